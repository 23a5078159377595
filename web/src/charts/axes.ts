// What an axis counts, and how that is written.
import { bytes, clock, duration, exactTime, took, type Units } from '../format.ts'
import { byteTicks, numberTicks, spanTicks, timeTicks, wholeTicks } from './ticks.ts'

export interface Axis {
  /** What stands before a value in full, such as `Step`. */
  name?: string
  ticks(from: number, to: number, count: number): number[]
  /** A mark of the axis, short; `step` is how far the marks are apart. */
  mark(value: number, step: number): string
  /** A value in full. */
  exact(value: number): string
}

const DIGITS_MAX = 6

/** As many digits as the marks need to be told apart. */
function mark(value: number, step: number): string {
  if (value === 0) return '0'
  const size = Math.abs(value)
  const digits = Math.max(1, Math.floor(Math.log10(size)) - Math.floor(Math.log10(step || size)) + 1)
  if (size < 1e-4 || size >= 1e15) return value.toExponential(Math.min(digits - 1, DIGITS_MAX)).replace('e+', 'e')
  return String(Number(value.toPrecision(Math.min(digits, 15))))
}

/** Seven digits, for floats of training have no more; whole numbers in full. */
export function exactNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value)
  const size = Math.abs(value)
  return size !== 0 && (size < 1e-4 || size >= 1e9) ? value.toExponential(5) : String(Number(value.toPrecision(7)))
}

const grouped = (value: number, locale: string) => value.toLocaleString(locale, { maximumFractionDigits: 0 })

/** `20k` and `2万`, as long as the marks can be told apart by it. */
function shortWhole(value: number, step: number, locale: string): string {
  if (Math.abs(value) < 10_000) return String(value)
  const digits = Math.floor(Math.log10(Math.abs(value))) - Math.floor(Math.log10(step || 1)) + 1
  if (digits > 4) return grouped(value, locale)
  return value.toLocaleString(locale, { notation: 'compact', maximumSignificantDigits: Math.max(1, digits) })
}

export const numbers: Axis = { ticks: numberTicks, mark, exact: exactNumber }

export const steps = (locale: string, name?: string): Axis => ({
  ...(name && { name }),
  ticks: wholeTicks,
  mark: (value, step) => shortWhole(value, step, locale),
  exact: value => grouped(value, locale),
})

export const sizes = (per = ''): Axis => ({
  ticks: byteTicks,
  mark: value => bytes(value),
  exact: value => `${bytes(value)}${per}`,
})

export const spans = (units: Units): Axis => ({
  ticks: spanTicks,
  mark: (value, step) => (step < 1000 ? `${value / 1000} ${units.second}` : duration(value, units)),
  exact: value => took(value, units),
})

export const times = (locale: string): Axis => ({
  ticks: timeTicks,
  mark: (value, step) => timeMark(value, step, locale),
  exact: value => exactTime(value, locale),
})

const DAY = 86_400_000

/** The clock; the date where a day begins. */
function timeMark(value: number, step: number, locale: string): string {
  const at = new Date(value)
  const isMidnight = at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0
  if (step >= DAY || (isMidnight && step >= 60_000)) {
    return at.toLocaleDateString(locale, { month: 'numeric', day: 'numeric' })
  }
  const text = clock(value)
  return step >= 60_000 ? text.slice(0, 5) : step >= 1000 ? text.slice(0, 8) : text
}
