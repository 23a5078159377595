import { useWords } from '../words/index.tsx'
import type { Axis } from './axes.ts'
import { type Picture, pxX, pxY } from './picture.ts'
import type { Point } from './point.ts'
import { smoothedAt, spreadAt, valueAt } from './tell.ts'
import { swatch } from './useCanvas.ts'

const ROWS_MAX = 10

interface Props {
  at: number
  points: Point[]
  picture: Picture
  axes: { x: Axis; y: Axis }
  /** How far down the hand is; nothing if it is the keyboard's. */
  handPx: number | null
}

const heightOf = (picture: Picture, { series, index }: Point) => {
  const px = pxY(picture, (series.smoothed ?? series.line.y)[index] ?? Number.NaN)
  return Number.isNaN(px) ? picture.bottom : px
}

/** As they stand in the picture, from above; of many, those around the hand. */
function rowsOf({ points, picture, handPx }: Props): { rows: Point[]; near: Point | undefined } {
  const sorted = points.toSorted((a, b) => heightOf(picture, a) - heightOf(picture, b))
  const away = (point: Point) => Math.abs(heightOf(picture, point) - (handPx ?? 0))
  const near =
    handPx === null
      ? undefined
      : sorted.reduce<Point | undefined>((a, b) => (a && away(a) <= away(b) ? a : b), undefined)
  const middle = near ? sorted.indexOf(near) : 0
  const first = Math.max(0, Math.min(middle - ROWS_MAX / 2, sorted.length - ROWS_MAX))
  return { rows: sorted.slice(first, first + ROWS_MAX), near }
}

/** The exact values under the cross-hair. */
export function Readout(props: Props) {
  const { charts } = useWords()
  const { at, points, picture, axes } = props
  const { rows, near } = rowsOf(props)
  const px = pxX(picture, at)
  const isLeft = px > picture.width / 2
  const style = isLeft ? { right: picture.width - px + 12 } : { left: px + 12 }
  return (
    <div className="readout" style={style}>
      <div className="readout-x">
        {axes.x.name} {axes.x.exact(at)}
      </div>
      <table>
        <tbody>
          {rows.map(point => {
            const { series, index, x } = point
            const smoothed = smoothedAt(series, index, axes.y)
            const spread = spreadAt(series, index, axes.y)
            return (
              <tr key={series.key} className={point === near && rows.length > 1 ? 'near' : undefined}>
                <th>
                  <span className={swatch(series.tone)} />
                  <span className="clip">{series.label}</span>
                </th>
                <td>{smoothed ?? valueAt(series, index, axes.y)}</td>
                {smoothed && <td className="soft">{valueAt(series, index, axes.y)}</td>}
                <td className="soft">{x === at ? (spread ?? '') : axes.x.exact(x)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {points.length > rows.length && <div className="soft">{charts.more(points.length - rows.length)}</div>}
    </div>
  )
}
