// A log of any length as a row of pages. Only pages near to what is looked at hold their lines; of the others it is known how
// long they are and how to ask for them again, so that the scroll bar is true and a browser never holds a million lines.
import type { components } from '../api/schema.d.ts'

export type Line = components['schemas']['LineView']
export type LinesPage = components['schemas']['LinesPage']

/** Where a page begins: these are parameters of the server's. */
export type PageAt = { from: 'end' } | { before: string } | { after: string }

export interface Page {
  at: PageAt
  lines: Line[] | null
  count: number
  /** Rows on the screen: more than lines if these are wrapped. */
  rows: number
  /** When its last line came. */
  lastMs: number
}

export const PAGE_LINES = 5_000
/** Pages before and behind the ones that are looked at which keep their lines. */
const NEAR = 3
/** Lines that came live are kept longer: asking for them again is not as exact. */
const LIVE_PAGES_KEPT = 20

/** So many rows of a line, if rows are so wide. */
export type RowsOf = (line: Line) => number

export class Reel {
  pages: Page[] = []
  /** Lines that have no end yet, by task and stream. */
  readonly open = new Map<string, Line>()
  /** How to ask for what came before the first page. */
  earlier: string | null = null
  /** How wide the rows are that it was measured for. */
  columns = 0
  /** How many rows have come before those that were first: a view moves by as many. */
  rowsPrepended = 0
  private rowsOf: RowsOf = () => 1

  /** Of a job that is over, lines without an end have all they will ever have. */
  private readonly isOver: boolean

  constructor(isOver: boolean) {
    this.isOver = isOver
  }

  get lineCount() {
    return this.pages.reduce((sum, page) => sum + page.count, 0) + this.open.size
  }

  get rowCount() {
    return this.pages.reduce((sum, page) => sum + page.rows, 0) + this.openRows()
  }

  get linesHeld() {
    return this.pages.reduce((sum, page) => sum + (page.lines?.length ?? 0), 0)
  }

  openRows() {
    return [...this.open.values()].reduce((sum, line) => sum + this.rowsOf(line), 0)
  }

  /** Takes a page from before the first one, or the very first. */
  prepend(at: PageAt, answer: LinesPage) {
    this.earlier = answer.before ?? null
    const lines = answer.lines.filter(line => !line.unfinished || this.isOver)
    if (lines.length === 0) return
    const page = this.made(at, lines)
    if (this.pages.length > 0) this.rowsPrepended += page.rows
    this.pages.unshift(page)
  }

  /** Takes a line that came just now. */
  append(line: Line) {
    this.open.delete(openKey(line))
    const last = this.pages.at(-1)
    if (last?.lines && last.lines.length < PAGE_LINES && !('from' in last.at) && !('before' in last.at)) {
      insert(last.lines, line)
      last.count += 1
      last.rows += this.rowsOf(line)
      last.lastMs = Math.max(last.lastMs, line.at_ms)
      return
    }
    const before = last?.lines?.at(-1)
    this.pages.push(this.made({ after: before ? keyOf(before) : '0:worker-0.1:0' }, [line]))
  }

  setOpen(line: Line) {
    this.open.set(openKey(line), line)
  }

  /** Gives a page its lines back. */
  refill(page: Page, answer: LinesPage) {
    const lines = 'after' in page.at ? answer.lines.slice(0, page.count) : answer.lines
    Object.assign(page, this.made(page.at, lines))
  }

  /** Rows are of another width now. */
  measure(rowsOf: RowsOf) {
    this.rowsOf = rowsOf
    for (const page of this.pages) {
      page.rows = page.lines ? sumOf(page.lines, rowsOf) : Math.max(page.rows, page.count)
    }
  }

  /** Lets go of lines far from these pages. */
  forgetFarFrom(first: number, last: number) {
    this.pages.forEach((page, index) => {
      const isNear = index >= first - NEAR && index <= last + NEAR
      const isLive = 'after' in page.at && index >= this.pages.length - LIVE_PAGES_KEPT
      if (!isNear && !isLive && index < this.pages.length - 1) page.lines = null
    })
  }

  /** The pages in which these rows stand. */
  pagesAt(firstRow: number, lastRow: number): [number, number] {
    let [row, first, last] = [0, -1, 0]
    this.pages.forEach((page, index) => {
      if (first < 0 && row + page.rows > firstRow) first = index
      if (row < lastRow) last = index
      row += page.rows
    })
    return [Math.max(0, first), last]
  }

  /** The line in a row and where in it the row begins; no line where it is not held. */
  rowsBetween(firstRow: number, lastRow: number): { line: Line | null; part: number }[] {
    const found: { line: Line | null; part: number }[] = []
    let row = 0
    const walk = (lines: Iterable<Line>) => {
      for (const line of lines) {
        const rows = this.rowsOf(line)
        for (let part = 0; part < rows; part += 1) {
          if (row >= firstRow && row < lastRow) found.push({ line, part })
          row += 1
        }
        if (row >= lastRow) return
      }
    }
    for (const page of this.pages) {
      if (row >= lastRow) return found
      if (row + page.rows <= firstRow) row += page.rows
      else if (page.lines === null) {
        for (let end = row + page.rows; row < end; row += 1) {
          if (row >= firstRow && row < lastRow) found.push({ line: null, part: 0 })
        }
      } else if (page.rows === page.lines.length) {
        const [from, to] = [Math.max(0, firstRow - row), Math.min(page.rows, lastRow - row)]
        for (const line of page.lines.slice(from, to)) found.push({ line, part: 0 })
        row += page.rows
      } else walk(page.lines)
    }
    walk(this.open.values())
    return found
  }

  /** The first row that came at this moment or later. */
  rowAtTime(ms: number): number {
    let row = 0
    for (const page of this.pages) {
      if (page.lastMs >= ms) {
        for (const line of page.lines ?? []) {
          if (line.at_ms >= ms) return row
          row += this.rowsOf(line)
        }
        return row
      }
      row += page.rows
    }
    return row
  }

  /** How far each log has been read, as the server takes it from readers who come back. */
  cursor(): string {
    const ends = new Map<string, number>()
    for (const { lines } of this.pages) {
      for (const { task, attempt, end } of lines ?? []) {
        const run = `${task}.${attempt}`
        ends.set(run, Math.max(end, ends.get(run) ?? 0))
      }
    }
    return [...ends].map(([run, end]) => `${run}:${end}`).join(',')
  }

  get lastMs(): number | null {
    return this.pages.at(-1)?.lastMs ?? null
  }

  private made(at: PageAt, lines: Line[]): Page {
    const lastMs = lines.reduce((most, line) => Math.max(most, line.at_ms), 0)
    return { at, lines, count: lines.length, rows: sumOf(lines, this.rowsOf), lastMs }
  }
}

/** So far back a line is put that came later than others with later times. */
const LATE_LINES_MAX = 500

/** Tasks tell of their lines in turns; here they stand in the order of their times. */
function insert(lines: Line[], line: Line) {
  let at = lines.length
  const isLater = (other: Line | undefined) =>
    other !== undefined && other.at_ms > line.at_ms && (other.task !== line.task || other.attempt !== line.attempt)
  while (at > Math.max(0, lines.length - LATE_LINES_MAX) && isLater(lines[at - 1])) at -= 1
  lines.splice(at, 0, line)
}

const sumOf = (lines: Line[], rowsOf: RowsOf) => lines.reduce((sum, line) => sum + rowsOf(line), 0)
const openKey = ({ task, attempt, stream }: Line) => `${task}.${attempt}.${stream}`
/** The server's name of a place in a log. Its times are finer, which only matters to lines of the same millisecond. */
const keyOf = ({ task, attempt, at_ms, end }: Line) => `${at_ms * 1000}:${task}.${attempt}:${end}`
