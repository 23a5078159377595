import { useMemo, useState } from 'react'
import type { ComparedJob } from '../../api/compare.ts'
import type { Range } from '../../charts/line.ts'
import { Followed } from '../../curves/Followed.tsx'
import { type CurveJob, useCurveJobs, useSeries } from '../../curves/useCurves.ts'
import { Button } from '../../ui/Button.tsx'
import { useWords } from '../../words/index.tsx'
import { CurveCard } from '../job/curves/CurveCard.tsx'
import type { CurveChoices } from '../job/curves/choices.ts'
import { metricsOf, tonesOf } from '../job/curves/metrics.ts'

const CHARTS_AT_ONCE = 6

/** The curves of all the jobs, each metric in one chart. They grow while jobs run. */
export default function CompareCurves({ jobs }: { jobs: ComparedJob[] }) {
  const found = useCurveJobs(jobs.map(job => job.id))
  return (
    <Followed jobs={found}>
      <Overlaid jobs={found} />
    </Followed>
  )
}

const ALL: Omit<CurveChoices, 'metric' | 'range'> = {
  x: 'step',
  smoothing: 0,
  log: false,
  task: undefined,
  group: undefined,
  versions: [],
  find: '',
}

function Overlaid({ jobs }: { jobs: CurveJob[] }) {
  const words = useWords()
  const [shown, setShown] = useState(CHARTS_AT_ONCE)
  const [range, setRange] = useState<Range | null>(null)
  const [metric, setMetric] = useState<string | null>(null)
  const { views } = useSeries(jobs)
  const found = useMemo(
    () => jobs.flatMap((job, at) => views[at]?.series.map(series => ({ job, series })) ?? []),
    [jobs, views],
  )
  const tones = useMemo(() => tonesOf(found), [found])
  const metrics = useMemo(() => metricsOf(found, ALL), [found])
  if (metrics.length === 0) return null
  const large = metrics.find(it => it.name === metric)
  return (
    <section className="stack" aria-label={words.compare.curves}>
      <h2>{words.compare.curves}</h2>
      <div className={large ? 'stack' : 'curve-grid'}>
        {(large ? [large] : metrics.slice(0, shown)).map(it => (
          <CurveCard
            key={it.name}
            metric={it}
            jobs={jobs}
            tones={tones}
            choices={{ ...ALL, metric, range }}
            onZoom={setRange}
            onEnlarge={setMetric}
          />
        ))}
      </div>
      {!large && metrics.length > shown && (
        <div>
          <Button onClick={() => setShown(shown + CHARTS_AT_ONCE)}>{words.curves.more(metrics.length - shown)}</Button>
        </div>
      )}
    </section>
  )
}
