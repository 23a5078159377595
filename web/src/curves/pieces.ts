// What the server sends of a curve, made into lines.

import type { components } from '../api/schema.d.ts'
import { EMPTY_LINE, type Line, type Odd, oddity } from '../charts/line.ts'

type Schemas = components['schemas']
export type CurveView = Schemas['CurveView']
export type CurveNews = Schemas['CurveNews']
export type MetricNumber = Schemas['MetricNumber']
type PointView = Schemas['PointView']
type BucketView = Schemas['BucketView']

/** What stands to the right: a step, a moment, or how long after the job's start. */
export type XKind = 'step' | 'time' | 'span'

/** How a point's place is read. */
export interface Across {
  kind: XKind
  /** The job's start, which time since start counts from. */
  startMs: number
}

const NAMED = { NaN: Number.NaN, Infinity: Number.POSITIVE_INFINITY, '-Infinity': Number.NEGATIVE_INFINITY }

export const toNumber = (value: MetricNumber): number => (typeof value === 'number' ? value : NAMED[value])

export function placeOf(point: PointView, { kind, startMs }: Across): number {
  if (kind === 'step') return point.step
  return kind === 'time' ? point.at_ms : point.at_ms - startMs
}

/** How many points a piece of a curve stands for. */
export const countOf = ({ points, buckets }: CurveView): number =>
  points?.length ?? buckets?.reduce((sum, it) => sum + it.count, 0) ?? 0

export function lineOf({ points, buckets }: CurveView, across: Across): Line {
  if (points) return ofPoints(points, across)
  return buckets ? ofBuckets(buckets, across) : EMPTY_LINE
}

function ofPoints(points: PointView[], across: Across): Line {
  const y = points.map(point => toNumber(point.value))
  const x = points.map(point => placeOf(point, across))
  const odd: Odd[] = y.flatMap((value, at) =>
    Number.isFinite(value) ? [] : [{ x: x[at] as number, what: oddity(value) }],
  )
  return inOrder({ x, y: y.map(value => (Number.isFinite(value) ? value : Number.NaN)), odd })
}

/** A bucket is drawn from its first point to its last, with its spread all the way. */
function ofBuckets(buckets: BucketView[], across: Across): Line {
  const ends = buckets.flatMap(bucket => {
    const { first, last, count } = bucket
    const at = (point: PointView, other: PointView) => ({
      bucket,
      x: placeOf(point, across),
      y: drawable([point, other], bucket),
    })
    return count === 1 ? [at(last, first)] : [at(first, last), at(last, first)]
  })
  return inOrder({
    x: ends.map(it => it.x),
    y: ends.map(it => it.y),
    low: ends.map(it => it.bucket.least ?? Number.NaN),
    high: ends.map(it => it.bucket.greatest ?? Number.NaN),
    count: ends.map(it => it.bucket.count),
    odd: buckets.flatMap(it => (it.not_finite > 0 ? [{ x: placeOf(it.last, across), what: oddOf(it) }] : [])),
  })
}

/** The point's own value; where that cannot be drawn, another of the bucket. */
function drawable(points: PointView[], { least, greatest }: BucketView): number {
  const value = points.map(it => toNumber(it.value)).find(Number.isFinite)
  return value ?? (least == null || greatest == null ? Number.NaN : (least + greatest) / 2)
}

/** Which of NaN and the infinities it was is told of the ends only; NaN is the common one. */
function oddOf({ first, last }: BucketView) {
  const odd = [last, first].map(it => toNumber(it.value)).find(it => !Number.isFinite(it))
  return oddity(odd ?? Number.NaN)
}

/** A clock that was set back, or a file that was written in another order: lines are drawn from left to right. */
export function inOrder(line: Line): Line {
  const { x } = line
  if (x.every((place, at) => at === 0 || place >= (x[at - 1] as number))) return line
  const order = x.map((_, at) => at).sort((a, b) => (x[a] as number) - (x[b] as number))
  const sorted = (values: number[]) => order.map(at => values[at] as number)
  return {
    x: sorted(x),
    y: sorted(line.y),
    low: line.low && sorted(line.low),
    high: line.high && sorted(line.high),
    count: line.count && sorted(line.count),
    odd: line.odd?.toSorted((a, b) => a.x - b.x),
  }
}

/** One line after the other. Where one of them has spreads and the other single points, a point is its own spread. */
export function joined(lines: Line[]): Line {
  const [first = EMPTY_LINE, ...rest] = lines
  if (rest.length === 0) return first
  const hasSpread = lines.some(it => it.low)
  const all = (of: (line: Line) => number[]) => lines.flatMap(of)
  const ones = (line: Line) => line.count ?? line.y.map(() => 1)
  return inOrder({
    x: all(it => it.x),
    y: all(it => it.y),
    ...(hasSpread && { low: all(it => it.low ?? it.y), high: all(it => it.high ?? it.y), count: all(ones) }),
    odd: lines.flatMap(it => it.odd ?? []),
  })
}
