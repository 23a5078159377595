// A value in words.
import type { Axis } from './axes.ts'
import type { Series } from './picture.ts'
import type { Point } from './point.ts'

/** The value at a place, or what it is where no axis has it. */
export function valueAt({ line }: Series, index: number, y: Axis): string {
  const value = line.y[index]
  if (value !== undefined && Number.isFinite(value)) return y.exact(value)
  return line.odd?.find(it => it.x === line.x[index])?.what ?? '–'
}

/** `0.31…0.92`, where the place stands for several points. */
export function spreadAt({ line }: Series, index: number, y: Axis): string | null {
  const [low, high, count] = [line.low?.[index], line.high?.[index], line.count?.[index]]
  if (low === undefined || high === undefined || !Number.isFinite(low) || count === 1) return null
  return `${y.exact(low)} … ${y.exact(high)}`
}

export function smoothedAt({ smoothed }: Series, index: number, y: Axis): string | null {
  const value = smoothed?.[index]
  return value === undefined || !Number.isFinite(value) ? null : y.exact(value)
}

/** Everything at one place, in one line. */
export function tell(x: number, points: Point[], axes: { x: Axis; y: Axis }): string {
  const values = points.map(({ series, index }) => `${series.label} ${valueAt(series, index, axes.y)}`)
  return [`${axes.x.name ?? ''} ${axes.x.exact(x)}`.trim(), ...values].join('; ')
}
