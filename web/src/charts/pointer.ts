// The layer above a chart: where the reader points to, and what is being chosen.
import { type Colours, clear, colourOf, type Pen } from './paint.ts'
import { type Picture, pxX, pxY } from './picture.ts'
import type { Point } from './point.ts'

export interface Drag {
  from: number
  to: number
}

export function paintPointer(
  pen: Pen,
  picture: Picture,
  colours: Colours,
  { at, points, drag }: { at: number | null; points: Point[]; drag: Drag | null },
) {
  clear(pen, picture)
  if (drag) paintChoice(pen, picture, colours, drag)
  if (at === null || drag) return
  pen.lineWidth = 1
  pen.strokeStyle = colours.axis
  pen.beginPath()
  pen.moveTo(pxX(picture, at), picture.top)
  pen.lineTo(pxX(picture, at), picture.bottom)
  pen.stroke()
  for (const { series, index, x } of points) {
    const y = pxY(picture, (series.smoothed ?? series.line.y)[index] ?? Number.NaN)
    if (Number.isNaN(y)) continue
    pen.fillStyle = colourOf(colours, series.tone)
    pen.strokeStyle = colours.ground
    pen.lineWidth = 2
    pen.beginPath()
    pen.arc(pxX(picture, x), y, 4, 0, 2 * Math.PI)
    pen.fill()
    pen.stroke()
  }
}

function paintChoice(pen: Pen, { left, right, top, bottom }: Picture, colours: Colours, drag: Drag) {
  const within = (px: number) => Math.min(right, Math.max(left, px))
  const [from, to] = [within(Math.min(drag.from, drag.to)), within(Math.max(drag.from, drag.to))]
  pen.fillStyle = colours.choice
  pen.globalAlpha = 0.16
  pen.fillRect(from, top, to - from, bottom - top)
  pen.globalAlpha = 1
  pen.fillRect(from, top, 1, bottom - top)
  pen.fillRect(to, top, 1, bottom - top)
}
