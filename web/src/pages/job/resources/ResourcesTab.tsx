import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { JobDetail } from '../../../api/queries.ts'
import { Cursor } from '../../../charts/cursor.ts'
import type { Range } from '../../../charts/line.ts'
import { Button } from '../../../ui/Button.tsx'
import { Choice } from '../../../ui/Choice.tsx'
import { Empty, Trouble } from '../../../ui/Say.tsx'
import { nodesOf, PANELS, subjectsOf } from '../../../usage/panels.ts'
import { clusterUsage, jobUsage } from '../../../usage/queries.ts'
import type { Span, Window } from '../../../usage/spans.ts'
import { UsageChart } from '../../../usage/UsageChart.tsx'
import { useChoices } from '../../../useChoices.ts'
import { useWords } from '../../../words/index.tsx'
import { tasksOf } from '../tasks.ts'
import { Counted } from './Counted.tsx'
import { readUsage, type UsageChoices } from './choices.ts'
import { Totals } from './Totals.tsx'

/** What a job uses, over one axis of time. */
export default function ResourcesTab({ job }: { job: JobDetail }) {
  const { usage: words } = useWords()
  const [search, choose] = useChoices()
  const text = search.toString()
  const choices = useMemo(() => readUsage(new URLSearchParams(text)), [text])
  const span = spanOf(job, choices)
  const { data: usage, error } = useQuery(jobUsage(job.id, span, choices.task))
  const cluster = useQuery({ ...clusterUsage(span), enabled: choices.by === 'node' }).data
  const [cursor] = useState(() => new Cursor())
  const subjects = useMemo(() => {
    if (choices.by !== 'node') return usage ? subjectsOf(usage, choices.by) : []
    return cluster ? nodesOf(cluster, new Set(usage?.tasks.map(it => it.node))) : []
  }, [usage, cluster, choices.by])
  const axis = choices.by === 'node' ? cluster : usage
  if (error) return <Trouble error={error} />
  if (!usage) return null
  if (job.started_at_ms == null || usage.tasks.length === 0) {
    return (
      <section className="panel">
        <Empty icon="curve" title={words.waiting} hint={words.waitingHint} />
      </section>
    )
  }
  return (
    <div className="stack">
      <Controls job={job} choices={choices} choose={choose} />
      {choices.by === 'node' && <p className="soft small">{words.nodeNote}</p>}
      {usage.tasks_left_out > 0 && choices.by === 'task' && (
        <p className="soft small">{words.leftOut(usage.tasks_left_out)}</p>
      )}
      {axis && (
        <div className="curve-grid">
          {PANELS.map(panel => (
            <UsageChart
              key={panel.key}
              panel={panel}
              subjects={subjects}
              at_ms={axis.at_ms}
              whole={[axis.from_ms, axis.to_ms]}
              range={choices.range}
              onRange={range => choose(asText(range))}
              cursor={cursor}
            />
          ))}
        </div>
      )}
      <Totals usage={usage} />
      <Counted tasks={usage.tasks} />
    </div>
  )
}

const asText = (range: Range | null) => ({
  from: range && String(Math.floor(range[0])),
  to: range && String(Math.ceil(range[1])),
})

const spanOf = (job: JobDetail, { window, range }: UsageChoices): Span => ({
  window,
  range,
  startMs: job.started_at_ms ?? job.created_at_ms,
  endMs: job.ended_at_ms ?? null,
})

interface Props {
  job: JobDetail
  choices: UsageChoices
  choose: (choices: Record<string, string | null>) => void
}

function Controls({ job, choices, choose }: Props) {
  const { usage: words, charts } = useWords()
  const tasks = tasksOf(job)
  const chooseBy = (by: string) => choose({ by: by === 'job' ? null : by, task: null })
  const chooseWindow = (window: string) => choose({ over: window === 'all' ? null : window, from: null, to: null })
  return (
    <section className="panel curve-controls" aria-label={charts.shown}>
      <Choice label={words.by} value={choices.by} onChange={chooseBy}>
        {Object.entries(words.kinds).map(([key, name]) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </Choice>
      {choices.by === 'task' && tasks.length > 1 && (
        <Choice label={words.task} value={choices.task ?? ''} onChange={task => choose({ task })}>
          <option value="">{words.allTasks}</option>
          {tasks.map(it => (
            <option key={it}>{it}</option>
          ))}
        </Choice>
      )}
      <fieldset className="row choice-row" aria-label={words.window}>
        {Object.entries(words.windows).map(([key, name]) => (
          <Button
            key={key}
            tight
            aria-pressed={choices.range === null && choices.window === (key as Window)}
            onClick={() => chooseWindow(key)}
          >
            {name}
          </Button>
        ))}
      </fieldset>
      {choices.range && <Button onClick={() => choose(asText(null))}>{charts.back}</Button>}
      {job.ended_at_ms == null && <span className="small soft">● {words.live}</span>}
    </section>
  )
}
