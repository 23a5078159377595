import { useState } from 'react'
import { useWords } from '../words/index.tsx'
import type { Axis } from './axes.ts'
import type { Range } from './line.ts'
import { indexFrom } from './line.ts'
import type { Series } from './picture.ts'
import { smoothedAt, spreadAt, valueAt } from './tell.ts'

const ROWS_EACH = 60

interface Props {
  label: string
  series: Series[]
  x: Axis
  y: Axis
  range: Range | null
}

/** Evenly spread, with the first and the last. */
function thinned(first: number, end: number): number[] {
  const count = end - first
  if (count <= ROWS_EACH) return Array.from({ length: Math.max(0, count) }, (_, index) => first + index)
  return Array.from({ length: ROWS_EACH }, (_, index) => first + Math.round((index * (count - 1)) / (ROWS_EACH - 1)))
}

function indices({ line: { x } }: Series, range: Range | null): number[] {
  if (!range) return thinned(0, x.length)
  const first = indexFrom(x, range[0])
  let end = indexFrom(x, range[1])
  while (x[end] === range[1]) end += 1
  return thinned(first, end)
}

/** The same chart for those who read and do not look. It is made when it is opened. */
export function ChartTable(props: Props) {
  const { charts } = useWords()
  const [open, setOpen] = useState(false)
  return (
    <details className="chart-table" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{charts.table}</summary>
      {open && <Rows {...props} />}
    </details>
  )
}

function Rows({ label, series, x, y, range }: Props) {
  const { charts } = useWords()
  const isSmooth = series.some(it => it.smoothed)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="chart-rows" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            <th>{charts.series}</th>
            <th className="number">{charts.place}</th>
            <th className="number">{charts.value}</th>
            {isSmooth && <th className="number">{charts.smoothed}</th>}
            <th>{charts.spread}</th>
          </tr>
        </thead>
        <tbody>
          {series.flatMap(it =>
            indices(it, range).map(index => (
              <tr key={`${it.key} ${index}`}>
                <td>{it.label}</td>
                <td className="number">{x.exact(it.line.x[index] as number)}</td>
                <td className="number">{valueAt(it, index, y)}</td>
                {isSmooth && <td className="number">{smoothedAt(it, index, y)}</td>}
                <td>{spreadAt(it, index, y)}</td>
              </tr>
            )),
          )}
        </tbody>
      </table>
    </section>
  )
}
