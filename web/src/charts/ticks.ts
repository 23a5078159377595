// Where the marks of an axis stand.

/** So many more marks than asked for are still fine; a chart with a single mark says less. */
const CROWDED = 1.5

/** 1, 2 or 5 of a power of ten, so that about `count` of them fill `width`. */
export function niceStep(width: number, count: number): number {
  const rough = width / (Math.max(1, count) * CROWDED)
  const power = 10 ** Math.floor(Math.log10(rough))
  const nice = [1, 2, 5, 10].find(it => it * power >= rough * 0.999_999) ?? 10
  return nice * power
}

/** Multiples of a step between two values. */
export function multiples(from: number, to: number, step: number, offset = 0): number[] {
  const found: number[] = []
  const first = Math.ceil((from - offset) / step - 1e-9)
  for (let index = first; index * step + offset <= to + step * 1e-9; index += 1) {
    // Through a text, for 3 * 0.1 is not 0.3; and never -0.
    found.push(Number((index * step + offset).toPrecision(14)) || 0)
  }
  return found
}

export function numberTicks(from: number, to: number, count: number): number[] {
  return to > from ? multiples(from, to, niceStep(to - from, count)) : [from]
}

/** Whole numbers only: there is no step 1.5. */
export function wholeTicks(from: number, to: number, count: number): number[] {
  return to > from ? multiples(from, to, Math.max(1, niceStep(to - from, count))) : [from]
}

/** Sizes: steps that are nice in the unit people read. */
export function byteTicks(from: number, to: number, count: number): number[] {
  if (!(to > from)) return [from]
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2((to - from) / Math.max(1, count)) / 10))
  const step = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024].find(it => (it * unit * count) / (to - from) >= 1) ?? 1024
  return multiples(from, to, step * unit)
}

/** Powers of ten; with few of them also twice and five times each. */
export function logTicks(from: number, to: number, count: number): number[] {
  const decades = Math.log10(to / from)
  if (decades < 1) return numberTicks(from, to, count).filter(it => it > 0)
  const every = Math.max(1, Math.ceil(decades / Math.max(1, count)))
  const within = decades * 3 <= count + 1 ? [1, 2, 5] : [1]
  const found: number[] = []
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power += 1) {
    if (power % every !== 0) continue
    found.push(...within.map(it => Number(`${it}e${power}`)).filter(it => it >= from && it <= to))
  }
  return found
}

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000]
const SPANS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map(it => it * SECOND),
  ...[1, 2, 5, 10, 15, 30].map(it => it * MINUTE),
  ...[1, 2, 3, 6, 12].map(it => it * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365].map(it => it * DAY),
]

/** A step of time that people count in, in milliseconds. */
export function timeStep(width: number, count: number): number {
  return SPANS.find(it => it * count * CROWDED >= width) ?? niceStep(width, count)
}

export function spanTicks(from: number, to: number, count: number): number[] {
  return to > from ? multiples(from, to, timeStep(to - from, count)) : [from]
}

/** Full hours and days of the reader's zone. */
export function timeTicks(from: number, to: number, count: number): number[] {
  if (!(to > from)) return [from]
  const zone = new Date(from).getTimezoneOffset() * MINUTE
  return multiples(from, to, timeStep(to - from, count), zone % DAY)
}
