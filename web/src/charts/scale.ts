import type { Range } from './line.ts'

/** An axis between two values: where on it a value stands, from 0 to 1, and what stands there. */
export interface Scale {
  readonly from: number
  readonly to: number
  at(value: number): number
  value(at: number): number
}

export function linear([from, to]: Range): Scale {
  const width = to - from || 1
  return { from, to, at: value => (value - from) / width, value: at => from + at * width }
}

/** Both ends are above zero; what is not has no place (NaN). */
export function logarithmic([from, to]: Range): Scale {
  const [first, width] = [Math.log(from), Math.log(to) - Math.log(from) || 1]
  return {
    from,
    to,
    at: value => (value > 0 ? (Math.log(value) - first) / width : Number.NaN),
    value: at => Math.exp(first + at * width),
  }
}

const ROOM = 0.06

/** Some room above and below; a curve that never changes gets an axis all the same. */
export function roomy([from, to]: Range, log: boolean): Range {
  if (log) {
    const factor = from === to ? 2 : (to / from) ** ROOM
    return [from / factor, to * factor]
  }
  const room = from === to ? Math.abs(from) * 0.1 || 1 : (to - from) * ROOM
  // What is never below zero has no axis below zero.
  return [from >= 0 ? Math.max(0, from - room) : from - room, to + room]
}
