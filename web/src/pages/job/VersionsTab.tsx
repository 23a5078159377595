import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import * as compare from '../../api/compare.ts'
import type { JobDetail } from '../../api/queries.ts'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/Button.tsx'
import { Trouble } from '../../ui/Say.tsx'
import { useSearchParams } from '../../useSearchParams.ts'
import { useWords } from '../../words/index.tsx'
import { LineageTree } from './LineageTree.tsx'
import { VersionTable } from './VersionTable.tsx'
import './versions.css'

/** Every version of the job beside the others, and where this one comes from and went. */
export default function VersionsTab({ job }: { job: JobDetail }) {
  return (
    <div className="stack">
      <Versions job={job} />
      <LineageTree job={job} />
    </div>
  )
}

function Versions({ job }: { job: JobDetail }) {
  const words = useWords()
  const [, go] = useLocation()
  const [search, setSearch] = useSearchParams()
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set())
  const before = Number(search.get('before')) || null
  const metric = search.get('metric')
  const { data, error } = useQuery(compare.versions(job.id, metric, before))
  const set = (name: string, value: string | null) =>
    setSearch(old => {
      const next = new URLSearchParams(old)
      if (value) next.set(name, value)
      else next.delete(name)
      return next
    })
  const refused =
    picked.size < 2
      ? words.versions.pick
      : picked.size > compare.COMPARED_MAX
        ? words.compare.atMost(compare.COMPARED_MAX)
        : null
  // The oldest first, for the others are measured by it.
  const chosen = (data?.versions ?? []).filter(it => picked.has(it.id)).toReversed()
  return (
    <section className="panel" aria-label={words.versions.title}>
      <header>
        <h2>{words.versions.title}</h2>
        <MetricsAsked key={metric} metric={metric} set={value => set('metric', value)} />
        <Button look="primary" refused={refused} onClick={() => go(paths.compare(chosen.map(it => it.id)))}>
          {words.versions.compare(picked.size)}
        </Button>
      </header>
      {error && <Trouble error={error} />}
      {data && <VersionTable found={data} here={job.id} picked={picked} pick={setPicked} />}
      {(before || data?.next) && (
        <footer className="row body">
          {before && <Button onClick={() => set('before', null)}>{words.versions.newest}</Button>}
          {data?.next && <Button onClick={() => set('before', String(data.next))}>{words.versions.older}</Button>}
        </footer>
      )}
    </section>
  )
}

function MetricsAsked({ metric, set }: { metric: string | null; set: (value: string | null) => void }) {
  const words = useWords()
  const [text, setText] = useState(metric ?? '')
  return (
    <form
      className="metrics-asked"
      onSubmit={event => {
        event.preventDefault()
        set(text.trim() || null)
      }}
    >
      <input
        className="input"
        aria-label={words.versions.metrics}
        placeholder={words.versions.metrics}
        title={words.versions.metricsHelp}
        value={text}
        onChange={event => setText(event.target.value)}
        onBlur={() => set(text.trim() || null)}
      />
    </form>
  )
}
