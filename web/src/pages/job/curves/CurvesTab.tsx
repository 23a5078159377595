import { type ReactNode, useMemo, useState } from 'react'
import type { JobDetail } from '../../../api/queries.ts'
import { Followed } from '../../../curves/Followed.tsx'
import { type CurveJob, curveJob, useCurveJobs, useSeries } from '../../../curves/useCurves.ts'
import { Button } from '../../../ui/Button.tsx'
import { Trouble } from '../../../ui/Say.tsx'
import { useWords } from '../../../words/index.tsx'
import { Controls } from './Controls.tsx'
import { CurveCard } from './CurveCard.tsx'
import { type Found, type Metric, metricsOf, sectionsOf, tonesOf } from './metrics.ts'
import { NoCurves } from './NoCurves.tsx'
import { Notes } from './Notes.tsx'
import { useCurveChoices } from './useCurveChoices.ts'

/** More charts come when they are asked for: a job may have thousands of metrics. */
const CHARTS_AT_ONCE = 48

export default function CurvesTab({ job }: { job: JobDetail }) {
  const state = useCurveChoices()
  const others = useCurveJobs(state.choices.versions.map(version => `${job.name}@${version}`))
  const own = JSON.stringify(curveJob(job))
  const jobs = useMemo(
    () => [JSON.parse(own) as CurveJob, ...others.filter(it => it.id !== job.id)],
    [own, others, job.id],
  )
  return (
    <Followed jobs={jobs}>
      <Curves job={job} jobs={jobs} state={state} />
    </Followed>
  )
}

interface Props {
  job: JobDetail
  jobs: CurveJob[]
  state: ReturnType<typeof useCurveChoices>
}

const distinct = (found: Found[], of: (it: Found) => string) => [...new Set(found.map(of))].sort()

function Curves({ job, jobs, state: { choices, choose, zoom, setSmoothing } }: Props) {
  const { views, error, isLoading } = useSeries(jobs)
  const found = useMemo(
    () => jobs.flatMap((it, at) => views[at]?.series.map(series => ({ job: it, series })) ?? []),
    [jobs, views],
  )
  const tones = useMemo(() => tonesOf(found), [found])
  const { task, group, find } = choices
  const metrics = useMemo(() => metricsOf(found, { task, group, find }), [found, task, group, find])
  if (error) return <Trouble error={error} />
  if (isLoading && found.length === 0) return null
  const notes = views[0]?.notes ?? []
  if (found.length === 0) {
    const isReading = views.some(it => it?.is_being_read) && job.ended_at_ms != null
    return (
      <div className="stack">
        <Notes notes={notes} />
        <section className="panel">
          <NoCurves isOver={job.ended_at_ms != null} isReading={isReading} />
        </section>
      </div>
    )
  }
  return (
    <div className="stack">
      <Controls
        job={job}
        choices={choices}
        choose={choose}
        setSmoothing={setSmoothing}
        tasks={distinct(found, it => it.series.task)}
        groups={distinct(found, it => it.series.group)}
      />
      <Notes notes={notes} />
      <Charts
        metrics={metrics}
        card={metric => (
          <CurveCard
            key={metric.name}
            metric={metric}
            jobs={jobs}
            tones={tones}
            choices={choices}
            onZoom={zoom}
            onEnlarge={name => choose({ metric: name })}
          />
        )}
        only={choices.metric}
      />
    </div>
  )
}

interface ChartsProps {
  metrics: Metric[]
  only: string | null
  card: (metric: Metric) => ReactNode
}

function Charts({ metrics, only, card }: ChartsProps) {
  const { curves: words } = useWords()
  const [shown, setShown] = useState(CHARTS_AT_ONCE)
  const large = metrics.find(it => it.name === only)
  if (large) return card(large)
  if (metrics.length === 0) return <p className="soft">{words.nothing}</p>
  const sections = sectionsOf(metrics.slice(0, shown))
  return (
    <>
      {sections.map(({ title, metrics: of }) => (
        <section key={title} className="stack" aria-label={title || words.main}>
          {sections.length > 1 && <h2>{title || words.main}</h2>}
          <div className="curve-grid">{of.map(card)}</div>
        </section>
      ))}
      {metrics.length > shown && (
        <Button onClick={() => setShown(shown + CHARTS_AT_ONCE)}>{words.more(metrics.length - shown)}</Button>
      )}
    </>
  )
}
