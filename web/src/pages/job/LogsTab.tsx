import { useMemo, useState } from 'react'
import { download } from '../../api/client.ts'
import type { JobDetail } from '../../api/queries.ts'
import { laneOf } from '../../logs/LogRow.tsx'
import { LogView, type Looks } from '../../logs/LogView.tsx'
import { Moment } from '../../logs/sync.ts'
import { type Log, useReel } from '../../logs/useReel.ts'
import { Wire } from '../../logs/wire.ts'
import { Button } from '../../ui/Button.tsx'
import { Empty, Trouble } from '../../ui/Say.tsx'
import { useToasts } from '../../ui/Toasts.tsx'
import { useWords } from '../../words/index.tsx'
import { LogTools } from './logs/LogTools.tsx'
import { type LogFilter, useLogFilter } from './logs/useLogFilter.ts'
import { tasksOf } from './tasks.ts'
import '../../logs/logs.css'

/** More lanes than this are too narrow for anyone. */
const LANES_MAX = 6
/** Of those that are not shown so many are named. */
const LEFT_NAMED_MAX = 8

export function LogsTab({ job }: { job: JobDetail }) {
  const words = useWords()
  const filter = useLogFilter()
  const [follow, setFollow] = useState(true)
  const { tellError } = useToasts()
  const tasks = tasksOf(job)
  const lanes = filter.tasks.length > 0 ? filter.tasks : tasks
  const isSplit = filter.isOn('lanes') && lanes.length > 1
  const looks = {
    wrap: filter.isOn('wrap'),
    times: filter.isOn('times'),
    names: !isSplit && lanes.length > 1,
  }
  const save = () =>
    download(downloadPath(job.id, filter.tasks.length > 0 ? filter.tasks : tasks, tasks)).catch(tellError)
  const shared = { job, filter, looks, follow, setFollow }
  return (
    <section className="panel log-panel" aria-label={words.job.tabs.logs}>
      <LogTools job={job} tasks={tasks} filter={filter} follow={follow} setFollow={setFollow} download={save} />
      {isSplit ? <Lanes {...shared} tasks={lanes} /> : <Whole {...shared} />}
    </section>
  )
}

/** One task's log comes as its bytes; of several, an archive. */
function downloadPath(job: string, wanted: string[], all: string[]): string {
  const base = `/api/v1/jobs/${encodeURIComponent(job)}`
  const [only] = wanted
  if (wanted.length === 1 && only) return `${base}/tasks/${encodeURIComponent(only)}/log?download=true`
  return wanted.length === all.length
    ? `${base}/logs/archive`
    : `${base}/logs/archive?task=${encodeURIComponent(wanted.join(','))}`
}

interface Shared {
  job: JobDetail
  filter: LogFilter
  looks: Looks
  follow: boolean
  setFollow: (on: boolean) => void
}

function Whole({ job, filter, looks, follow, setFollow }: Shared) {
  const isOver = job.ended_at_ms != null
  const log = useReel({ job: job.id, isOver, wanted: filter.wanted, count: filter.count })
  return (
    <>
      <Around log={log} filter={filter} />
      <LogView log={log} looks={looks} follow={follow} setFollow={setFollow} />
      <Foot log={log} filter={filter} />
    </>
  )
}

/** Tasks side by side, at the same moment. */
function Lanes({ tasks, ...shared }: Shared & { tasks: string[] }) {
  const { logs: w } = useWords()
  const between = useMemo(() => ({ moment: new Moment(), wire: new Wire() }), [])
  const left = tasks.slice(LANES_MAX)
  return (
    <>
      {left.length > 0 && (
        <p className="note small" title={left.join(', ')}>
          {w.lanesLeft(left.slice(0, LEFT_NAMED_MAX).join(', '), left.length - LEFT_NAMED_MAX)}
        </p>
      )}
      <div className="log-lanes">
        {tasks.slice(0, LANES_MAX).map(task => (
          <Lane key={task} task={task} {...between} {...shared} />
        ))}
      </div>
    </>
  )
}

/** What logs side by side have in common. */
interface Between {
  moment: Moment
  wire: Wire
}

function Lane({ job, filter, looks, follow, setFollow, task, moment, wire }: Shared & Between & { task: string }) {
  const isOver = job.ended_at_ms != null
  const log = useReel({ job: job.id, isOver, wanted: { ...filter.wanted, task }, count: filter.count }, wire)
  return (
    <div className="log-lane">
      <h3 className={`lane-${laneOf(task)}`}>{task}</h3>
      <Around log={log} filter={filter} />
      <LogView log={log} looks={looks} follow={follow} setFollow={setFollow} lane={{ name: task, moment }} />
      <Foot log={log} filter={filter} />
    </div>
  )
}

/** What stands in place of lines, or before them. */
function Around({ log, filter }: { log: Log; filter: LogFilter }) {
  const { logs: w } = useWords()
  if (log.error != null) return <Trouble error={log.error} />
  if (log.reel.lineCount === 0 && !log.isBusy) {
    return filter.find !== '' || filter.since !== undefined || filter.until !== undefined ? (
      <Empty icon="file" title={w.nothingFound} hint={w.nothingFoundHint} />
    ) : (
      <Empty icon="file" title={w.waiting} hint={log.line === 'ended' ? undefined : w.waitingHint} />
    )
  }
  if (log.reel.earlier === null) return null
  return (
    <div className="log-earlier">
      <Button tight look="plain" refused={log.isBusy ? w.reading : null} onClick={log.loadEarlier}>
        {log.isBusy ? w.reading : w.earlier}
      </Button>
    </div>
  )
}

function Foot({ log, filter }: { log: Log; filter: LogFilter }) {
  const { logs: w } = useWords()
  return (
    <footer className="row small soft">
      <span>{filter.find === '' ? w.lineCounts(log.reel.lineCount) : w.found(log.reel.lineCount)}</span>
      {log.isBusy && <span>{w.reading}</span>}
      <span role="status">
        {log.line === 'live' && `● ${w.live}`}
        {log.line === 'cut' && w.again}
        {log.line === 'ended' && (log.reel.earlier === null ? w.ended : w.over)}
      </span>
    </footer>
  )
}
