import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react'
import { useSearchParams } from 'wouter'
import { stringify } from 'yaml'
import type { Origin } from '../../api/actions.ts'
import { spoken } from '../../api/error.ts'
import * as queries from '../../api/queries.ts'
import { label } from '../../api/queries.ts'
import { Page } from '../../Shell.tsx'
import { saveText } from '../../save.ts'
import { Button } from '../../ui/Button.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { Trouble } from '../../ui/Say.tsx'
import { useLanguage, useWords } from '../../words/index.tsx'
import { Check } from './Check.tsx'
import { draftOf, isOurs, newDraft, textOf } from './draft.ts'
import { FileDoor } from './FileDoor.tsx'
import { SimpleDoor } from './SimpleDoor.tsx'
import { setFramework } from './simple.ts'
import { usePlan } from './usePlan.ts'
import { useSuggestedName } from './useSuggestedName.ts'
import './create.css'

const ProDoor = lazy(() => import('./ProDoor.tsx'))

const KEPT = 'trainmaster.draft'
const DOORS = ['simple', 'pro', 'file'] as const
type Door = (typeof DOORS)[number]

/** What was being written in this tab when it was left. */
const keptDraft = () => draftOf(sessionStorage.getItem(KEPT) ?? newDraft().text)

export default function CreatePage() {
  const { words, language } = useLanguage()
  const [search, setSearch] = useSearchParams()
  const from = search.get('from') ?? undefined
  const framework = search.get('framework')
  const door: Door = DOORS.find(it => it === search.get('door')) ?? 'simple'
  const [draft, setDraft] = useState(() =>
    framework ? setFramework(newDraft(), framework) : from ? newDraft() : keptDraft(),
  )
  const former = useQuery({ ...queries.job(from ?? ''), enabled: from !== undefined, refetchInterval: false })
  const filled = useRef(false)
  const ours = isOurs(draft)
  const [about, setAbout] = useState<Origin>({})
  const origin = { from, ...about, name: ours ? undefined : about.name, lang: language }
  const planned = usePlan(draft.text, origin)
  const problems = useMemo(() => planned.problems.map(it => spoken(it, language)), [planned.problems, language])
  const checked = { ...planned, problems }
  // Nobody wants words to appear in a file that they are typing.
  useSuggestedName(draft, setDraft, ours && from === undefined && door !== 'file')

  useEffect(() => {
    if (!former.data || filled.current) return
    filled.current = true
    setDraft(draftOf(stringify(former.data.spec, { lineWidth: 0 })))
  }, [former.data])
  useEffect(() => sessionStorage.setItem(KEPT, draft.text), [draft.text])

  const go = (next: Door) =>
    setSearch(old => {
      const params = new URLSearchParams(old)
      params.set('door', next)
      return params
    })
  const take = async (file: File | undefined) => {
    if (!file) return
    setDraft(draftOf(await file.text()))
    setAbout({ file: file.name })
    go('file')
  }
  const convert = () => {
    if (!checked.plan?.ours) return
    setAbout({ ...about, dialect: checked.plan.dialect })
    setDraft(draftOf(checked.plan.ours))
  }
  const isOver = useDrop(take)
  const title = former.data ? words.create.again(label(former.data)) : words.create.title
  return (
    <>
      <Page
        title={title}
        ends={<Transfer take={take} save={() => saveText(`${textOf(draft, ['name']) || 'job'}.yaml`, draft.text)} />}
      >
        {former.error && <Trouble error={former.error} />}
        <nav className="tabs" aria-label={words.create.doors}>
          {DOORS.map(it => (
            <button key={it} type="button" aria-pressed={door === it} onClick={() => go(it)}>
              {words.create[it]}
            </button>
          ))}
        </nav>
        <div className="create">
          {door === 'simple' && ours && <SimpleDoor draft={draft} setDraft={setDraft} problems={problems} />}
          {door === 'pro' && ours && (
            <Suspense fallback={<div />}>
              <ProDoor draft={draft} setDraft={setDraft} problems={problems} />
            </Suspense>
          )}
          {door !== 'file' && !ours && (
            <div className="note stack">
              <p>{checked.plan?.ours ? words.create.foreign.said(checked.plan.dialect) : words.create.simpleOff}</p>
              {checked.plan?.ours && (
                <div>
                  <Button onClick={convert}>{words.create.foreign.convert}</Button>
                </div>
              )}
            </div>
          )}
          {door === 'file' && (
            <FileDoor
              text={draft.text}
              change={text => setDraft(draftOf(text))}
              problems={problems}
              name={ours ? null : (about.name ?? '')}
              setName={name => setAbout({ ...about, name: name || undefined })}
            />
          )}
          <Check
            draft={draft}
            checked={checked}
            origin={origin}
            forget={() => sessionStorage.removeItem(KEPT)}
            convert={convert}
          />
        </div>
      </Page>
      {isOver && <div className="drop-here">{words.create.drop}</div>}
    </>
  )
}

/** Takes a file that is dropped anywhere on the page. Answers whether one is held over it. */
function useDrop(take: (file: File | undefined) => void): boolean {
  const [isOver, setOver] = useState(false)
  const latest = useRef(take)
  latest.current = take
  useEffect(() => {
    const over = (event: DragEvent) => {
      event.preventDefault()
      setOver(true)
    }
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false)
    const drop = (event: DragEvent) => {
      event.preventDefault()
      setOver(false)
      latest.current(event.dataTransfer?.files[0])
    }
    window.addEventListener('dragover', over)
    window.addEventListener('dragleave', leave)
    window.addEventListener('drop', drop)
    return () => {
      window.removeEventListener('dragover', over)
      window.removeEventListener('dragleave', leave)
      window.removeEventListener('drop', drop)
    }
  }, [])
  return isOver
}

function Transfer({ take, save }: { take: (file: File | undefined) => void; save: () => void }) {
  const words = useWords()
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        accept=".yaml,.yml,.json,.txt"
        aria-label={words.create.import}
        onChange={event => {
          take(event.target.files?.[0])
          event.target.value = ''
        }}
      />
      <Button title={words.create.drop} onClick={() => input.current?.click()}>
        <Icon name="file" />
        {words.create.import}
      </Button>
      <Button onClick={save}>
        <Icon name="down" />
        {words.create.export}
      </Button>
    </>
  )
}
