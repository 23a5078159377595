import { lazy, Suspense, useMemo, useState } from 'react'
import type { Origin } from '../../api/actions.ts'
import { spoken } from '../../api/error.ts'
import { label } from '../../api/queries.ts'
import { Page } from '../../Shell.tsx'
import { saveText } from '../../save.ts'
import { Button } from '../../ui/Button.tsx'
import { Trouble } from '../../ui/Say.tsx'
import { useSearchParams } from '../../useSearchParams.ts'
import { useLanguage, useWords } from '../../words/index.tsx'
import { type Beginning, beginningOf, keyOf } from './beginning.ts'
import { Check } from './Check.tsx'
import { Continued } from './Continued.tsx'
import { DOORS, useDoor } from './doors.ts'
import { type Draft, draftOf, isOurs, textOf } from './draft.ts'
import { FileDoor } from './FileDoor.tsx'
import { SimpleDoor } from './SimpleDoor.tsx'
import { Transfer, useDrop } from './Transfer.tsx'
import { useDraft } from './useDraft.ts'
import { usePlan } from './usePlan.ts'
import { useSuggestedName } from './useSuggestedName.ts'
import './create.css'

const ProDoor = lazy(() => import('./ProDoor.tsx'))

type Kept = ReturnType<typeof useDraft>

export default function CreatePage() {
  const [search] = useSearchParams()
  const beginning = beginningOf(search)
  return <Begun key={keyOf(beginning)} beginning={beginning} />
}

function Begun({ beginning }: { beginning: Beginning }) {
  const words = useWords()
  const kept = useDraft(beginning)
  const { draft, former } = kept
  const title = former.data ? words.create.ways[beginning.way](label(former.data)) : words.create.title
  if (draft) return <Writing beginning={beginning} kept={kept} draft={draft} title={title} />
  return <Page title={title}>{former.error && <Trouble error={former.error} again={former.refetch} />}</Page>
}

interface Props {
  beginning: Beginning
  kept: Kept
  draft: Draft
  title: string
}

function Writing({ beginning, kept, draft, title }: Props) {
  const { words, language } = useLanguage()
  const [door, go] = useDoor()
  const ours = isOurs(draft)
  const [about, setAbout] = useState<Origin>({})
  const { from, way } = beginning
  const origin = { from, ...about, name: ours ? undefined : about.name, lang: language }
  const planned = usePlan(draft.text, origin)
  const problems = useMemo(() => planned.problems.map(it => spoken(it, language)), [planned.problems, language])
  const checked = { ...planned, problems }
  // Nobody wants words to appear in a file that they are typing.
  const isNamed = from === undefined ? door === 'file' : way !== 'clone'
  useSuggestedName(draft, kept.suggest, ours && !isNamed, kept.former.data?.name)

  const take = async (file: File | undefined) => {
    if (!file) return
    kept.replace(draftOf(await file.text()))
    setAbout({ file: file.name })
    go('file')
  }
  const convert = () => {
    if (!checked.plan?.ours) return
    setAbout({ ...about, dialect: checked.plan.dialect })
    kept.replace(draftOf(checked.plan.ours))
  }
  const isOver = useDrop(take)
  const form = { draft, setDraft: kept.setDraft, problems }
  return (
    <>
      <Page
        title={title}
        ends={<Transfer take={take} save={() => saveText(`${textOf(draft, ['name']) || 'job'}.yaml`, draft.text)} />}
      >
        {kept.isContinued && <Continued startOver={kept.startOver} />}
        <nav className="tabs" aria-label={words.create.doors}>
          {DOORS.map(it => (
            <button key={it} type="button" aria-pressed={door === it} onClick={() => go(it)}>
              {words.create[it]}
            </button>
          ))}
        </nav>
        <div className="create" key={kept.generation}>
          {door === 'simple' && ours && <SimpleDoor {...form} />}
          {door === 'pro' && ours && (
            <Suspense fallback={<div />}>
              <ProDoor {...form} />
            </Suspense>
          )}
          {door !== 'file' && !ours && (
            <Foreign dialect={checked.plan?.ours ? checked.plan.dialect : null} convert={convert} />
          )}
          {door === 'file' && (
            <FileDoor
              text={draft.text}
              change={text => kept.setDraft(draftOf(text))}
              problems={problems}
              name={ours ? null : (about.name ?? '')}
              setName={name => setAbout({ ...about, name: name || undefined })}
            />
          )}
          <Check draft={draft} checked={checked} origin={origin} forget={kept.forget} convert={convert} />
        </div>
      </Page>
      {isOver && <div className="drop-here">{words.create.drop}</div>}
    </>
  )
}

/** In place of a form, for a file that no form can show. */
function Foreign({ dialect, convert }: { dialect: string | null; convert: () => void }) {
  const { create: w } = useWords()
  return (
    <div className="note stack">
      <p>{dialect === null ? w.simpleOff : w.foreign.said(dialect)}</p>
      {dialect !== null && (
        <div>
          <Button onClick={convert}>{w.foreign.convert}</Button>
        </div>
      )}
    </div>
  )
}
