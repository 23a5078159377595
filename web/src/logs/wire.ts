import { follow } from '../api/sse.ts'
import type { Line, Reel } from './reel.ts'
import type { Asked, LineState } from './useReel.ts'

/** Lanes are ready one soon after the other; the line to the server is opened for all of them at once. */
const GATHER_MS = 50

/** One log that wants to hear what comes. */
export interface Lane {
  readonly asked: Asked
  readonly reel: Reel
  /** The newest that was there when it began to listen. */
  readonly sinceMs: number | undefined
  draw: () => void
  setLine: (line: LineState) => void
  setError: (error: unknown) => void
}

/** One line to the server for all logs on the page: a browser has six, and a page that holds them all can ask for nothing else. */
export class Wire {
  private readonly lanes = new Set<Lane>()
  private open: AbortController | null = null
  private timer: ReturnType<typeof setTimeout> | undefined

  join(lane: Lane) {
    this.lanes.add(lane)
    this.renew()
  }

  leave(lane: Lane) {
    if (this.lanes.delete(lane)) this.renew()
  }

  /** Whoever came or went: the next line begins where each log ends. */
  private renew() {
    this.open?.abort()
    this.open = null
    clearTimeout(this.timer)
    if (this.lanes.size > 0) this.timer = setTimeout(() => this.listen([...this.lanes]), GATHER_MS)
  }

  private listen(lanes: Lane[]) {
    const [first] = lanes
    if (!first) return
    const stopped = new AbortController()
    this.open = stopped
    const each = (act: (lane: Lane) => void) => stopped.signal.aborted || lanes.forEach(act)
    follow(`/api/v1/jobs/${encodeURIComponent(first.asked.job)}/lines?${queryOf(lanes, first)}`, {
      signal: stopped.signal,
      last: lanes
        .map(lane => lane.reel.cursor())
        .filter(it => it !== '')
        .join(','),
      onLine: open => each(lane => lane.setLine(open ? 'live' : 'cut')),
      onEvents: events => {
        for (const { kind, data } of events) {
          if (kind === 'line' || kind === 'open') hand(JSON.parse(data) as Line, kind, lanes)
        }
        each(lane => lane.draw())
      },
    })
      .then(() => each(lane => lane.setLine('ended')))
      .catch(error => each(lane => lane.setError(error)))
  }
}

/** What is wanted of every log is the same; only the tasks are not. */
function queryOf(lanes: Lane[], { asked: { wanted } }: Lane): URLSearchParams {
  const tasks = lanes.flatMap(lane => lane.asked.wanted.task ?? [])
  const since = lanes.map(lane => lane.sinceMs)
  const all = {
    ...wanted,
    task: tasks.length === lanes.length ? tasks.join(',') : undefined,
    since_ms: since.includes(undefined) ? wanted.since_ms : Math.min(...since.map(Number)),
  }
  const query = new URLSearchParams({ follow: 'true', open: 'true' })
  for (const [name, value] of Object.entries(all)) if (value !== undefined) query.set(name, String(value))
  return query
}

function hand(line: Line, kind: 'line' | 'open', lanes: Lane[]) {
  for (const { asked, reel, sinceMs } of lanes) {
    const { task } = asked.wanted
    const isMeant = task === undefined || task.split(',').includes(line.task)
    // Another log may have less, and what it is told again is told of all.
    if (!isMeant || line.at_ms < (sinceMs ?? 0)) continue
    if (kind === 'open') reel.setOpen(line)
    else reel.append(line)
  }
}
