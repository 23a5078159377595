import { useEffect, useRef, useState } from 'react'
import { AGAIN_MS } from '../api/again.ts'
import { api, must } from '../api/client.ts'
import { isAway } from '../api/error.ts'
import { type LinesPage, PAGE_LINES, type Page, type PageAt, Reel } from './reel.ts'
import { type Lane, Wire } from './wire.ts'

export type LineState = 'live' | 'cut' | 'ended'

/** Which lines are wanted; all of it is the server's to sort out. */
export interface Wanted {
  /** With commas; all if there is none. */
  task?: string
  attempt?: string
  stream?: 'merged' | 'stdout' | 'stderr' | 'platform'
  since_ms?: number
  until_ms?: number
  pattern?: string
  regex?: boolean
  ignore_case?: boolean
  context?: number
}

export interface Log {
  reel: Reel
  /** Another number whenever there is something new. */
  version: number
  line: LineState
  /** Whether it is still being read. */
  isBusy: boolean
  error: unknown
  loadEarlier: () => void
  /** Says which rows are looked at, so that their lines are there and others are not. */
  look: (firstRow: number, lastRow: number) => void
}

/** A browser cannot make a box taller than this many rows; who wants more narrows it by time. */
const LINES_MAX = 1_500_000

export interface Asked {
  job: string
  isOver: boolean
  wanted: Wanted
  /** How many lines to begin with; everything if there is no number. */
  count: number | null
}

/** Reads a job's log backwards from its end, a page at a time, and follows what comes. Logs side by side share a wire. */
export function useReel({ job, isOver, wanted, count }: Asked, shared?: Wire): Log {
  const reading = useRef<Reading | null>(null)
  const [own] = useState(() => new Wire())
  const [version, setVersion] = useState(0)
  const [line, setLine] = useState<LineState>('live')
  const [error, setError] = useState<unknown>(null)
  const key = JSON.stringify(wanted)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is wanted is compared by its text; a job that ends is heard of by following
  useEffect(() => {
    const fresh = new Reading(
      { job, isOver, wanted, count },
      { draw: () => setVersion(old => old + 1), setLine, setError },
      shared ?? own,
    )
    reading.current = fresh
    setError(null)
    setLine('live')
    fresh.read()
    return () => fresh.stop()
  }, [job, key, count])
  const now = reading.current
  return {
    reel: now?.reel ?? EMPTY,
    version,
    line,
    isBusy: now?.isBusy ?? true,
    error,
    loadEarlier: () => now?.loadEarlier(),
    look: (first, last) => now?.look(first, last),
  }
}

const EMPTY = new Reel(true)

interface Listener {
  draw: () => void
  setLine: (line: LineState) => void
  setError: (error: unknown) => void
}

class Reading implements Lane {
  readonly reel: Reel
  readonly asked: Asked
  isBusy = true
  sinceMs: number | undefined
  private readonly stopped = new AbortController()
  private readonly filling = new Set<Page>()
  private frame = 0
  private readonly listener: Listener
  private readonly wire: Wire

  constructor(asked: Asked, listener: Listener, wire: Wire) {
    this.asked = asked
    this.listener = listener
    this.wire = wire
    this.reel = new Reel(asked.isOver)
  }

  stop() {
    this.stopped.abort()
    this.wire.leave(this)
    cancelAnimationFrame(this.frame)
  }

  async read() {
    const { count, isOver, wanted } = this.asked
    try {
      const { earlier, pages } = this.reel
      await this.readBack(
        count ?? LINES_MAX,
        pages.length > 0 && earlier !== null ? { before: earlier } : { from: 'end' },
      )
      this.setError(null)
      if (isOver || wanted.until_ms !== undefined) this.setLine('ended')
      else this.follow()
    } catch (error) {
      this.setError(error)
      if (isAway(error)) setTimeout(() => this.stopped.signal.aborted || this.read(), AGAIN_MS)
    }
    this.isBusy = false
    this.draw()
  }

  setLine(line: LineState) {
    this.listener.setLine(line)
  }

  setError(error: unknown) {
    if (!this.stopped.signal.aborted) this.listener.setError(error)
  }

  loadEarlier() {
    if (this.isBusy || this.reel.earlier === null) return
    this.isBusy = true
    this.draw()
    this.readBack(this.reel.lineCount + PAGE_LINES, { before: this.reel.earlier })
      .catch(this.listener.setError)
      .finally(() => {
        this.isBusy = false
        this.draw()
      })
  }

  look(firstRow: number, lastRow: number) {
    const [first, last] = this.reel.pagesAt(firstRow, lastRow)
    this.reel.forgetFarFrom(first, last)
    for (const page of this.reel.pages.slice(first, last + 1)) {
      if (page.lines === null && !this.filling.has(page)) this.refill(page)
    }
  }

  /** Page after page until there are so many lines. One may be empty and not the last: each looks at so many bytes. */
  private async readBack(count: number, from: PageAt) {
    let at: PageAt | null = from
    while (at && this.reel.lineCount < count && !this.stopped.signal.aborted) {
      const most = Math.min(PAGE_LINES, count - this.reel.lineCount)
      this.reel.prepend(at, await this.ask(at, most))
      if (this.reel.pages.length > 12) this.reel.forgetFarFrom(this.reel.pages.length - 1, this.reel.pages.length - 1)
      at = this.reel.earlier === null ? null : { before: this.reel.earlier }
      this.draw()
    }
  }

  private async refill(page: Page) {
    this.filling.add(page)
    try {
      this.reel.refill(page, await this.ask(page.at, page.count))
      this.draw()
    } catch (error) {
      this.setError(error)
    } finally {
      this.filling.delete(page)
    }
  }

  private ask(at: PageAt, limit: number): Promise<LinesPage> {
    const query = { ...this.asked.wanted, ...at, limit }
    const params = { path: { job: this.asked.job }, query }
    return must(api.GET('/api/v1/jobs/{job}/lines', { params, signal: this.stopped.signal }))
  }

  private follow() {
    if (this.stopped.signal.aborted) return
    this.sinceMs = this.reel.lastMs ?? this.asked.wanted.since_ms
    this.wire.join(this)
  }

  /** However fast lines come, the page is drawn once a frame. */
  draw() {
    if (this.stopped.signal.aborted) return
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0
      this.listener.draw()
    })
  }
}
