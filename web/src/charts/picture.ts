// What is where in a chart. Nothing here draws.
import type { Axis } from './axes.ts'
import { extentX, extentY, type Line, type Range } from './line.ts'
import { linear, logarithmic, roomy, type Scale } from './scale.ts'
import { logTicks } from './ticks.ts'

export interface Series {
  key: string
  label: string
  /** Which colour of the palette; beyond its end colours come again with dashes. */
  tone: number
  line: Line
  /** Values as they are drawn in place of the line's own, which then stand behind them, faintly. */
  smoothed?: number[]
}

/** A value that is drawn across the chart. */
export interface Limit {
  value: number
  label: string
}

export interface Sheet {
  series: Series[]
  x: Axis
  y: Axis
  log: boolean
  fromZero: boolean
  /** What is seen of the x axis. */
  range: Range
  limits: Limit[]
  /** Labels of the y axis get at least so much room, so that charts below each other begin at the same place. */
  labelPx: number
}

export interface Box {
  width: number
  height: number
  density: number
}

export interface Mark {
  at: number
  text: string
}

export interface Picture extends Box {
  left: number
  top: number
  right: number
  bottom: number
  x: Scale
  /** None where there is nothing that could have a place on it. */
  y: Scale | null
  marksX: Mark[]
  marksY: Mark[]
}

const TOP = 10
const BOTTOM = 22
const RIGHT = 14
/** Labels of the y axis come in steps of this width, so that a new digit does not make the curve jump. */
const LABEL_STEP_PX = 14
const MARK_GAP_PX = { x: 90, y: 36 }

/** A chart of a single place still has an axis. */
export const widened = ([from, to]: Range): Range => (from === to ? [from - 0.5, to + 0.5] : [from, to])

export const wholeRange = (series: Series[]): Range | null => {
  const found = extentX(series.map(it => it.line))
  return found && widened(found)
}

function scaleY({ series, range, log, fromZero, limits }: Sheet): Scale | null {
  const drawn = series.flatMap(({ line, smoothed }) => (smoothed ? [line, { x: line.x, y: smoothed }] : [line]))
  const found = extentY(drawn, range, log)
  if (found === null) return null
  const all = [...found, ...limits.map(it => it.value).filter(it => !log || it > 0), ...(fromZero && !log ? [0] : [])]
  const room = roomy([Math.min(...all), Math.max(...all)], log)
  return log ? logarithmic(room) : linear(room)
}

/** How far marks are apart; 0 of a single one. */
const stepOf = ([first = 0, second = first]: number[]) => Math.abs(second - first)

function marksOf(axis: Axis, scale: Scale, count: number, log: boolean): { value: number; text: string }[] {
  const ticks = (log ? logTicks : axis.ticks)(scale.from, scale.to, count)
  const isByTens = log && scale.to / scale.from >= 10
  const step = stepOf(ticks) || scale.to - scale.from
  return ticks.map(value => ({ value, text: axis.mark(value, isByTens ? Math.abs(value) : step) }))
}

/** Lays a chart out. `measure` says how wide a text is. */
export function layOut(sheet: Sheet, box: Box, measure: (text: string) => number): Picture {
  const y = scaleY(sheet)
  const height = box.height - TOP - BOTTOM
  const marksY = y ? marksOf(sheet.y, y, Math.max(2, Math.floor(height / MARK_GAP_PX.y)), sheet.log) : []
  const widest = Math.max(24, sheet.labelPx, ...marksY.map(it => measure(it.text)))
  const left = Math.ceil(widest / LABEL_STEP_PX) * LABEL_STEP_PX + 10
  const [right, bottom] = [box.width - RIGHT, box.height - BOTTOM]
  const x = linear(sheet.range)
  const marksX = marksOf(sheet.x, x, Math.max(2, Math.floor((right - left) / MARK_GAP_PX.x)), false)
  return {
    ...box,
    left,
    right,
    top: TOP,
    bottom,
    x,
    y,
    marksX: marksX.map(it => ({ at: left + x.at(it.value) * (right - left), text: it.text })),
    marksY: marksY.map(it => ({ at: bottom - (y?.at(it.value) ?? 0) * height, text: it.text })),
  }
}

export const pxX = (picture: Picture, x: number) => picture.left + picture.x.at(x) * (picture.right - picture.left)

export const pxY = (picture: Picture, y: number) =>
  picture.y ? picture.bottom - picture.y.at(y) * (picture.bottom - picture.top) : Number.NaN

/** What stands at a pixel of the x axis, within the axis. */
export function placeAt(picture: Picture, px: number): number {
  const at = (px - picture.left) / Math.max(1, picture.right - picture.left)
  return picture.x.value(Math.min(1, Math.max(0, at)))
}
