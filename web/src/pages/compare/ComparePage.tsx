import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { Link } from 'wouter'
import type { Comparison } from '../../api/compare.ts'
import * as compare from '../../api/compare.ts'
import { paths } from '../../paths.ts'
import { Page } from '../../Shell.tsx'
import { Button } from '../../ui/Button.tsx'
import { Empty, Rich, Trouble } from '../../ui/Say.tsx'
import { useLanguage, useWords } from '../../words/index.tsx'
import { CodeDiff } from './CodeDiff.tsx'
import { type Compared, CompareTable, short } from './CompareTable.tsx'
import { useCompared } from './useCompared.ts'
import './compare.css'

/** Charts come when what they are beside is there to read. */
const CompareCurves = lazy(() => import('./CompareCurves.tsx'))

export default function ComparePage() {
  const words = useWords()
  const compared = useCompared()
  const { jobs, same, metric } = compared
  const found = useQuery(compare.comparison({ jobs, same, metric }))
  const isEnough = jobs.length > 1
  return (
    <Page title={words.compare.title} ends={<AddJob compared={compared} />}>
      {!isEnough && (
        <section className="panel">
          <Empty icon="compare" title={words.compare.emptyTitle} hint={words.compare.emptyHint}>
            {jobs.length > 0 && <p className="mono">{jobs.join(', ')}</p>}
            <Link className="button" href={paths.jobs}>
              {words.compare.toJobs}
            </Link>
          </Empty>
        </section>
      )}
      {isEnough && found.error && <Missing error={found.error} compared={compared} />}
      {isEnough && found.data && <SideBySide found={found.data} compared={compared} />}
    </Page>
  )
}

function AddJob({ compared }: { compared: Compared }) {
  const words = useWords()
  const [name, setName] = useState('')
  const isFull = compared.jobs.length >= compare.COMPARED_MAX
  const add = () => {
    if (name.trim() === '') return
    compared.add(name.trim())
    setName('')
  }
  return (
    <form
      className="row"
      onSubmit={event => {
        event.preventDefault()
        add()
      }}
    >
      <input
        className="input add-job"
        aria-label={words.compare.addLabel}
        placeholder={words.compare.addPlaceholder}
        value={name}
        onChange={event => setName(event.target.value)}
      />
      <Button refused={isFull ? words.compare.atMost(compare.COMPARED_MAX) : null} onClick={add}>
        {words.compare.add}
      </Button>
    </form>
  )
}

/** One of the names is wrong: what it is, and a way to take it out. */
function Missing({ error, compared }: { error: Error; compared: Compared }) {
  const words = useWords()
  return (
    <>
      <Trouble error={error} />
      <div className="row">
        {compared.jobs.map((job, at) => (
          <Button key={job} tight aria-label={words.compare.remove(job)} onClick={() => compared.remove(at)}>
            {job} ×
          </Button>
        ))}
      </div>
    </>
  )
}

function SideBySide({ found, compared }: { found: Comparison; compared: Compared }) {
  const words = useWords()
  const { best } = found
  const hasCode = found.rows.some(row => row.kind === 'code')
  return (
    <>
      <section className="panel" aria-label={words.compare.title}>
        <header>
          <span role="status">{words.compare.summary(found.differences, found.equal)}</span>
          <label className="check">
            <input type="checkbox" checked={compared.same} onChange={event => compared.setSame(event.target.checked)} />
            {words.compare.showSame}
          </label>
        </header>
        {best && <p className="body best-line">{words.compare.bestOf(best.label, best.metric, short(best.value))}</p>}
        <CompareTable found={found} compared={compared} />
      </section>
      <Suspense fallback={null}>
        <CompareCurves jobs={found.jobs} />
      </Suspense>
      {hasCode && <CodeDiff jobs={found.jobs} />}
      <NotRecorded found={found} />
    </>
  )
}

/** Each thing that nobody knows once, with whose it is. */
function NotRecorded({ found }: { found: Comparison }) {
  const { words, language } = useLanguage()
  const say = (en: string, zh: string | undefined) => (language === 'zh' && zh) || en
  const each = found.jobs.flatMap(job =>
    (job.not_recorded ?? []).map(it => ({ what: say(it.what, it.what_zh), why: say(it.why, it.why_zh), job })),
  )
  const all = [...Map.groupBy(each, it => JSON.stringify([it.what, it.why])).values()]
  if (all.length === 0) return null
  return (
    <section className="panel" aria-label={words.compare.unknown}>
      <header>
        <h2>{words.compare.unknown}</h2>
        <span className="soft small">{words.compare.unknownHelp}</span>
      </header>
      <ul className="body unknown-list">
        {all.map(same => (
          <li key={`${same[0]?.what} ${same[0]?.why}`}>
            <strong>{same[0]?.what}</strong>{' '}
            <span className="soft">
              <Rich text={same[0]?.why ?? ''} />
            </span>{' '}
            {same.map(it => (
              <Link key={it.job.id} className="tag" href={paths.job(it.job.id)}>
                {it.job.label}
              </Link>
            ))}
          </li>
        ))}
      </ul>
    </section>
  )
}
