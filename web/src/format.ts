// Numbers and times as people read them. Nothing here knows a language but through its locale.
import type { Resources } from './api/queries.ts'

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

export function bytes(count: number): string {
  let [value, unit] = [count, 0]
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit += 1
  }
  const digits = unit === 0 || value >= 100 || Number.isInteger(value) ? 0 : 1
  return `${value.toFixed(digits)} ${UNITS[unit]}`
}

export const cpus = (milli: number): string => `${Number((milli / 1000).toFixed(2))}`

const pad = (number: number) => String(number).padStart(2, '0')

/** What days and seconds are called. */
export interface Units {
  day: string
  second: string
}

/** `4 s`, `3:07`, `2:05:09`, `3 d 02:11`. */
export function duration(ms: number, units: Units): string {
  const s = Math.max(0, Math.floor(ms / 1000))
  const [d, h, m] = [Math.floor(s / 86_400), Math.floor((s % 86_400) / 3600), Math.floor((s % 3600) / 60)]
  if (d > 0) return `${d} ${units.day} ${pad(h)}:${pad(m)}`
  if (h > 0) return `${h}:${pad(m)}:${pad(s % 60)}`
  return m > 0 ? `${m}:${pad(s % 60)}` : `${s} ${units.second}`
}

const SPELT: [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]

/** A time as a job file has it: `12h`, `90s`. */
export function written(ms: number): string {
  const [unit, step] = SPELT.find(([, step]) => ms % step === 0) ?? ['ms', 1]
  return `${ms / step}${unit}`
}

/** How long something took that is over: `1.9 s`, `3:07`. */
export const took = (ms: number, units: Units): string =>
  ms < 60_000 ? `${(Math.max(0, ms) / 1000).toFixed(1)} ${units.second}` : duration(ms, units)

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
]

/** `3 minutes ago`; a date once it is older than a week. */
export function ago(atMs: number, nowMs: number, locale: string): string {
  const past = nowMs - atMs
  if (past > 7 * 86_400_000) return new Intl.DateTimeFormat(locale, { dateStyle: 'medium' }).format(atMs)
  const [unit, step] = STEPS.find(([, ms]) => past >= ms) ?? ['second', 1000]
  return new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' }).format(-Math.floor(past / step), unit)
}

export function exactTime(atMs: number, locale: string): string {
  return new Intl.DateTimeFormat(locale, {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hour12: false,
    timeZoneName: 'short',
  }).format(atMs)
}

/** A day in the reader's zone, with its name. */
export const day = (atMs: number, locale: string): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'full' }).format(atMs)

/** The clock of a log line, without the date. */
export function clock(atMs: number): string {
  const at = new Date(atMs)
  const ms = String(at.getMilliseconds()).padStart(3, '0')
  return `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}.${ms}`
}

/** `2 CPU · 4 GiB · 1 × A100` */
export function resources(amount: Resources): string {
  const accelerators = Object.entries(amount.accelerators ?? {}).map(([kind, count]) => `${count} × ${kind}`)
  const all = [`${cpus(amount.cpus_milli)} CPU`, bytes(amount.memory_bytes), ...accelerators]
  // A line may end between two of them, and not between a number and its unit.
  return all.map(it => it.replaceAll(' ', '\u00a0')).join('\u00a0· ')
}

/** A moment as an input for local dates and times takes it. */
export function localInput(atMs: number): string {
  const at = new Date(atMs)
  const date = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`
  return `${date}T${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`
}
