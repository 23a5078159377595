import { follow } from '../api/sse.ts'
import { News } from './news.ts'
import type { CurveNews } from './pieces.ts'

/** So much of each curve at a look. */
const PIECES = 100

export type LineState = 'live' | 'cut' | 'ended'

/** Follows the curves of one job. */
export class Live {
  readonly news = new News()
  /** Another number whenever something came. */
  version = 0
  line: LineState = 'live'
  private readonly listeners = new Set<() => void>()
  private readonly stop = new AbortController()
  private frame = 0

  constructor(job: string) {
    follow(`/api/v1/jobs/${encodeURIComponent(job)}/metrics/follow?buckets=${PIECES}`, {
      signal: this.stop.signal,
      onLine: open => this.tell(open ? 'live' : 'cut'),
      onEvents: events => {
        for (const event of events) {
          if (event.kind === 'points') this.news.take(JSON.parse(event.data) as CurveNews[])
        }
        this.tell(this.line)
      },
    }).then(
      () => this.tell('ended'),
      () => this.tell('cut'),
    )
  }

  /** However fast it comes, the page is drawn once a frame. */
  private tell(line: LineState) {
    this.line = line
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0
      this.version += 1
      for (const listener of this.listeners) listener()
    })
  }

  subscribe(listener: () => void) {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  close() {
    this.stop.abort()
    cancelAnimationFrame(this.frame)
  }
}
