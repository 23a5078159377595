import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import type { AlgorithmVersionView } from '../../api/algorithms.ts'
import * as algorithms from '../../api/algorithms.ts'
import { isAway, spoken, tellingOf } from '../../api/error.ts'
import { forgetDraft, keepDraft, readDraft } from '../../drafts.ts'
import { paths } from '../../paths.ts'
import { Page } from '../../Shell.tsx'
import { Button } from '../../ui/Button.tsx'
import { Fact } from '../../ui/Fact.tsx'
import { Trouble } from '../../ui/Say.tsx'
import { useToasts } from '../../ui/Toasts.tsx'
import { useLanguage, useWords } from '../../words/index.tsx'
import { Continued } from '../create/Continued.tsx'
import { GoodToKnow } from '../create/GoodToKnow.tsx'
import { withoutSecrets } from '../create/kept.ts'
import { Problems } from '../create/Problems.tsx'
import { type Checked, useChecked } from '../create/useChecked.ts'
import { templateIn, textToChange } from './template.ts'
import { runsOn } from './told.ts'

const Editor = lazy(() => import('../create/Editor.tsx'))

interface Known {
  name: string
  newest: number | undefined
  /** What there is to be changed. */
  begun: AlgorithmVersionView | undefined
}

/** A version of an algorithm is written: of one there is, beginning with its newest, or the first of a new one. */
export function WriteAlgorithm({ of }: { of?: Known }) {
  const { words, language } = useLanguage()
  const w = words.algorithms
  const { text, setText, isContinued, startOver, forget } = useKept(of)
  const { data: schema } = useQuery(algorithms.schema())
  const found = useChecked(text, language, () => algorithms.addAlgorithm(text, true, language))
  const problems = useMemo(() => found.problems.map(it => spoken(it, language)), [found.problems, language])
  const checked = { ...found, problems }
  return (
    <Page title={of ? w.newVersionOf(of.name) : w.add}>
      {isContinued && <Continued startOver={startOver} />}
      <div className="create">
        <section className="panel" aria-label={w.document}>
          <header>
            <h2>{w.document}</h2>
            <span className="soft small">{w.documentHelp}</span>
          </header>
          <Suspense fallback={<div className="editor" />}>
            <Editor text={text} change={setText} problems={problems} label={w.document} schema={schema} />
          </Suspense>
        </section>
        <Verdict text={text} checked={checked} newest={of?.newest} forget={forget} />
      </div>
    </Page>
  )
}

/** What is written outlives a reload. */
function useKept(of: Known | undefined) {
  const key = `algorithm ${of?.name ?? ''}`
  const { algorithms: w } = useWords()
  const [begun] = useState(() => (of?.begun ? textToChange(of.begun) : templateIn(w)))
  const [kept, setKept] = useState(() => readDraft(key))
  const [text, setText] = useState(kept ?? begun)
  useEffect(() => {
    const safe = withoutSecrets(text)
    if (text === begun || safe === null) forgetDraft(key)
    else keepDraft(key, safe)
  }, [key, text, begun])
  const startOver = () => {
    setText(begun)
    setKept(null)
  }
  return { text, setText, isContinued: kept !== null, startOver, forget: () => forgetDraft(key) }
}

interface VerdictProps {
  text: string
  checked: Checked<AlgorithmVersionView>
  newest: number | undefined
  forget: () => void
}

/** What the server makes of it so far, and the way to keep it. */
function Verdict({ text, checked, newest, forget }: VerdictProps) {
  const { words, language } = useLanguage()
  const w = words.algorithms
  const client = useQueryClient()
  const { tell, tellError } = useToasts()
  const [, go] = useLocation()
  const [isBusy, setBusy] = useState(false)
  const { problems, error, made } = checked
  const isChecking = checked.of !== text
  const trouble = isAway(error) ? words.app.away : tellingOf(error, language).message
  const blocked = isChecking ? words.create.checking : (problems[0]?.message ?? (made ? null : trouble))
  const save = async () => {
    setBusy(true)
    try {
      const kept = await algorithms.addAlgorithm(text, false, language)
      const name = algorithms.versionName(kept)
      tell(kept.version === newest ? w.same(name) : w.added(name))
      forget()
      await client.invalidateQueries({ queryKey: ['algorithms'] })
      go(paths.algorithm(kept.algorithm))
    } catch (caught) {
      tellError(caught)
      setBusy(false)
    }
  }
  return (
    <aside className="panel check-panel" aria-label={w.explained}>
      <header>
        <h2>{w.explained}</h2>
        <span className="soft small" role="status">
          {isChecking
            ? words.create.checking
            : problems.length === 0
              ? words.create.noProblems
              : words.create.problems(problems.length)}
        </span>
      </header>
      <div className="body stack">
        {error != null && <Trouble error={error} />}
        <Problems title={w.blocked} problems={problems} />
        {made && <Summary made={made} />}
        <GoodToKnow notes={made?.notes} />
        <Button look="primary" refused={isBusy ? w.saving : blocked} onClick={save}>
          {w.save}
        </Button>
      </div>
    </aside>
  )
}

function Summary({ made: { document } }: { made: AlgorithmVersionView }) {
  const { app, algorithms: w } = useWords()
  const names = (all: Record<string, unknown> = {}) => Object.keys(all).join(', ') || app.none
  return (
    <dl className="facts">
      <Fact name={w.name}>{document.name}</Fact>
      <Fact name={w.runsOn}>{runsOn(document, w).join(' · ')}</Fact>
      <Fact name={w.inputs}>{names(document.inputs)}</Fact>
      <Fact name={w.outputs}>{names(document.outputs)}</Fact>
      <Fact name={w.params}>{names(document.params)}</Fact>
    </dl>
  )
}
