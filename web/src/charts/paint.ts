// Draws a chart. It is handed everything it draws and looks nothing up.
import { type Line, seen } from './line.ts'
import { type Picture, pxX, pxY, type Series, type Sheet } from './picture.ts'

export interface Colours {
  series: string[]
  grid: string
  axis: string
  text: string
  ink: string
  ground: string
  limit: string
  choice: string
  font: string
}

export type Pen = CanvasRenderingContext2D

const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]]
/** Points further apart than this are marked, for between them the line is only a guess. */
const DOT_APART_PX = 14
const FAINT = 0.32

export const colourOf = (colours: Colours, tone: number) => colours.series[tone % colours.series.length] ?? colours.ink

/** On the middle of a device's pixel, so that thin lines are sharp. */
const crisp = (px: number, density: number) => (Math.round(px * density) + 0.5) / density

export function clear(pen: Pen, { width, height, density }: Picture) {
  pen.setTransform(density, 0, 0, density, 0, 0)
  pen.clearRect(0, 0, width, height)
}

export function paint(pen: Pen, sheet: Sheet, picture: Picture, colours: Colours) {
  clear(pen, picture)
  grid(pen, picture, colours)
  pen.save()
  pen.beginPath()
  pen.rect(picture.left, 0, picture.right - picture.left + 1, picture.bottom + 1)
  pen.clip()
  for (const it of sheet.series) one(pen, it, sheet, picture, colourOf(colours, it.tone))
  pen.restore()
  for (const it of sheet.series) oddities(pen, it, sheet, picture, colourOf(colours, it.tone))
  limits(pen, sheet, picture, colours)
}

function grid(pen: Pen, picture: Picture, colours: Colours) {
  const { left, right, bottom, density } = picture
  pen.lineWidth = 1 / density
  pen.strokeStyle = colours.grid
  pen.fillStyle = colours.text
  pen.font = colours.font
  pen.textBaseline = 'middle'
  pen.textAlign = 'right'
  for (const { at, text } of picture.marksY) {
    across(pen, picture, at)
    pen.fillText(text, left - 8, at)
  }
  pen.strokeStyle = colours.axis
  across(pen, picture, bottom)
  pen.textBaseline = 'top'
  pen.textAlign = 'center'
  for (const { at, text } of picture.marksX) {
    pen.beginPath()
    pen.moveTo(crisp(at, density), bottom)
    pen.lineTo(crisp(at, density), bottom + 4)
    pen.stroke()
    const half = pen.measureText(text).width / 2
    pen.fillText(text, Math.min(at, right + 12 - half), bottom + 7)
  }
}

function across(pen: Pen, { left, right, density }: Picture, at: number) {
  pen.beginPath()
  pen.moveTo(left, crisp(at, density))
  pen.lineTo(right, crisp(at, density))
  pen.stroke()
}

function one(pen: Pen, { line, smoothed, tone }: Series, sheet: Sheet, picture: Picture, colour: string) {
  pen.strokeStyle = colour
  pen.fillStyle = colour
  pen.lineJoin = 'round'
  pen.lineCap = 'round'
  band(pen, line, sheet, picture, smoothed ? 0.1 : 0.18)
  pen.lineWidth = smoothed ? 1 : 1.6
  pen.globalAlpha = smoothed ? FAINT : 1
  pen.setLineDash(DASHES[Math.floor(tone / 8) % DASHES.length] ?? [])
  stroke(pen, line, sheet, picture)
  if (smoothed) {
    pen.globalAlpha = 1
    pen.lineWidth = 2
    stroke(pen, { x: line.x, y: smoothed }, sheet, picture)
  }
  pen.setLineDash([])
  pen.globalAlpha = 1
}

/** The runs of places that have a value, as first index and end. */
function runs(values: number[], [first, end]: [number, number], log: boolean): [number, number][] {
  const found: [number, number][] = []
  const has = (at: number) => Number.isFinite(values[at]) && !(log && (values[at] as number) <= 0)
  for (let at = first; at < end; at += 1) {
    if (!has(at)) continue
    const from = at
    while (at < end && has(at)) at += 1
    found.push([from, at])
  }
  return found
}

function stroke(pen: Pen, line: Line, sheet: Sheet, picture: Picture) {
  const window = seen(line, sheet.range)
  pen.beginPath()
  for (const [from, end] of runs(line.y, window, sheet.log)) {
    for (let at = from; at < end; at += 1) {
      const [x, y] = [pxX(picture, line.x[at] as number), pxY(picture, line.y[at] as number)]
      if (at === from) pen.moveTo(x, y)
      else pen.lineTo(x, y)
    }
    const width = pxX(picture, line.x[end - 1] as number) - pxX(picture, line.x[from] as number)
    if (width <= (end - from - 1) * DOT_APART_PX && end - from > 1) continue
    for (let at = from; at < end; at += 1) dot(pen, picture, line.x[at] as number, line.y[at] as number)
  }
  pen.stroke()
}

/** As a stroke of no length with round ends: it is part of the same path. */
function dot(pen: Pen, picture: Picture, x: number, y: number) {
  const [px, py] = [pxX(picture, x), pxY(picture, y)]
  pen.moveTo(px + 1.4, py)
  pen.arc(px, py, 1.4, 0, 2 * Math.PI)
  pen.moveTo(px, py)
}

/** Between the least and the greatest of what each place stands for. */
function band(pen: Pen, { x, low, high }: Line, sheet: Sheet, picture: Picture, alpha: number) {
  if (!low || !high) return
  pen.globalAlpha = alpha
  for (const [from, end] of runs(low, seen({ x, y: low }, sheet.range), sheet.log)) {
    pen.beginPath()
    for (let at = from; at < end; at += 1) pen.lineTo(pxX(picture, x[at] as number), pxY(picture, high[at] as number))
    for (let at = end - 1; at >= from; at -= 1)
      pen.lineTo(pxX(picture, x[at] as number), pxY(picture, low[at] as number))
    pen.fill()
  }
}

const ODD_SIZE = 3.5

/** NaN is a cross at the foot of the chart, infinity an arrow at the edge it left by. One for each pixel is enough. */
function oddities(pen: Pen, { line }: Series, sheet: Sheet, picture: Picture, colour: string) {
  pen.strokeStyle = colour
  pen.lineWidth = 1.6
  pen.beginPath()
  let last = Number.NEGATIVE_INFINITY
  for (const { x, what } of line.odd ?? []) {
    const at = pxX(picture, x)
    if (x < sheet.range[0] || x > sheet.range[1] || at - last < ODD_SIZE) continue
    last = at
    const up = what === '∞'
    const y = up ? picture.top : picture.bottom - ODD_SIZE - 2
    pen.moveTo(at - ODD_SIZE, up ? y + ODD_SIZE : y - ODD_SIZE)
    if (what === 'NaN') {
      pen.lineTo(at + ODD_SIZE, y + ODD_SIZE)
      pen.moveTo(at - ODD_SIZE, y + ODD_SIZE)
    } else pen.lineTo(at, up ? y - ODD_SIZE : y + ODD_SIZE)
    pen.lineTo(at + ODD_SIZE, up ? y + ODD_SIZE : y - ODD_SIZE)
  }
  pen.stroke()
}

function limits(pen: Pen, sheet: Sheet, picture: Picture, colours: Colours) {
  pen.strokeStyle = colours.limit
  pen.fillStyle = colours.limit
  pen.lineWidth = 1.2
  pen.font = colours.font
  pen.textAlign = 'right'
  pen.setLineDash([5, 4])
  for (const { value, label } of sheet.limits) {
    const at = pxY(picture, value)
    if (Number.isNaN(at)) continue
    across(pen, picture, at)
    const isHigh = at < picture.top + 16
    pen.textBaseline = isHigh ? 'top' : 'bottom'
    pen.fillText(label, picture.right - 2, isHigh ? at + 3 : at - 3)
  }
  pen.setLineDash([])
}
