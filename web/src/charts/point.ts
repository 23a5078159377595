// What stands where the reader points to.
import type { Range } from './line.ts'
import { indexFrom, nearest } from './line.ts'
import type { Series } from './picture.ts'

/** A place of a series. */
export interface Point {
  series: Series
  index: number
  x: number
}

const inside = (x: number, [from, to]: Range) => x >= from && x <= to

/** Of each series that has anything near, the place nearest to `x`. */
export function pointsAt(series: Series[], x: number, range: Range, reach: number): Point[] {
  return series.flatMap(it => {
    const index = nearest(it.line.x, x)
    const at = it.line.x[index]
    return at !== undefined && Math.abs(at - x) <= reach && inside(at, range) ? [{ series: it, index, x: at }] : []
  })
}

/** The place that any series has nearest to `x`. */
export function snap(series: Series[], x: number, range: Range): number | null {
  let found: number | null = null
  for (const { line } of series) {
    const at = line.x[nearest(line.x, x)]
    if (at === undefined || !inside(at, range)) continue
    if (found === null || Math.abs(at - x) < Math.abs(found - x)) found = at
  }
  return found
}

/** The next place to the left or right, of all series together. */
export function neighbour(series: Series[], x: number | null, by: number, range: Range): number | null {
  const from = x ?? (by > 0 ? range[0] - 1 : range[1] + 1)
  let found: number | null = null
  for (const { line } of series) {
    let index = indexFrom(line.x, from)
    while (by > 0 && line.x[index] === from) index += 1
    const at = line.x[by > 0 ? index : index - 1]
    if (at === undefined || !inside(at, range)) continue
    if (found === null || (by > 0 ? at < found : at > found)) found = at
  }
  return found
}
