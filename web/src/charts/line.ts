// A curve as it is drawn: places to the right, values above them.

export type Range = readonly [from: number, to: number]

export type Oddity = 'NaN' | '∞' | '−∞'

/** A value that no axis has. */
export interface Odd {
  x: number
  what: Oddity
}

/** One curve. `x` never goes back; where `y` is NaN nothing is drawn and the line has a gap. */
export interface Line {
  x: number[]
  y: number[]
  /** The least and the greatest of what each place stands for, where places stand for more than one point. */
  low?: number[]
  high?: number[]
  /** How many points each place stands for. */
  count?: number[]
  odd?: Odd[]
}

export const EMPTY_LINE: Line = { x: [], y: [] }

export const oddity = (value: number): Oddity => (Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '−∞')

/** The first index whose place is not before `x`. */
export function indexFrom(places: number[], x: number): number {
  let [low, high] = [0, places.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((places[middle] as number) < x) low = middle + 1
    else high = middle
  }
  return low
}

/** The index whose place is nearest to `x`, or -1 of an empty line. */
export function nearest(places: number[], x: number): number {
  const after = indexFrom(places, x)
  if (after === 0) return places.length === 0 ? -1 : 0
  if (after === places.length) return after - 1
  return x - (places[after - 1] as number) <= (places[after] as number) - x ? after - 1 : after
}

/** The indices that can be seen, with one on either side so that the line leaves the picture and does not end in it. */
export function seen({ x }: Line, [from, to]: Range): [first: number, end: number] {
  const first = Math.max(0, indexFrom(x, from) - 1)
  let end = indexFrom(x, to)
  while (end < x.length && (x[end] as number) <= to) end += 1
  return [first, Math.min(x.length, end + 1)]
}

/** From the first place of all lines to the last. */
export function extentX(lines: Line[]): Range | null {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { x, odd = [] } of lines) {
    for (const place of [x[0], x.at(-1), odd[0]?.x, odd.at(-1)?.x]) {
      if (place === undefined) continue
      from = Math.min(from, place)
      to = Math.max(to, place)
    }
  }
  return from <= to ? [from, to] : null
}

/** From the least of what can be seen to the greatest. On a logarithmic axis only what is above zero counts. */
export function extentY(lines: Line[], range: Range, log: boolean): Range | null {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  const take = (value: number | undefined) => {
    if (value === undefined || !Number.isFinite(value) || (log && value <= 0)) return
    from = Math.min(from, value)
    to = Math.max(to, value)
  }
  for (const line of lines) {
    const [first, end] = seen(line, range)
    for (let at = first; at < end; at += 1) {
      const place = line.x[at] as number
      // What stands just outside is drawn to, and does not stretch the axis.
      if (place < range[0] || place > range[1]) continue
      take(line.y[at])
      take(line.low?.[at])
      take(line.high?.[at])
    }
  }
  return from <= to ? [from, to] : null
}
