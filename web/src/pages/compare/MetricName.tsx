import type { ComparedRow, Direction } from '../../api/compare.ts'
import { useWords } from '../../words/index.tsx'
import { withDirection } from './useCompared.ts'

interface Props {
  row: ComparedRow
  rows: ComparedRow[]
  setMetric: (metric: string) => void
}

/** A metric, and which way it is better: its name says so, or whoever looks at it. */
export function MetricName({ row, rows, setMetric }: Props) {
  const words = useWords()
  const shown = rows.flatMap(it =>
    it.metric ? [{ name: it.name, direction: it.metric.direction ?? null, guessed: it.metric.guessed }] : [],
  )
  const direction = row.metric?.direction ?? ''
  return (
    <div className="metric-name">
      <span className="compared-name">{row.name}</span>
      <select
        className="select tight"
        aria-label={words.compare.direction(row.name)}
        value={direction}
        onChange={event => setMetric(withDirection(shown, row.name, event.target.value as Direction))}
      >
        {direction === '' && <option value="">{words.compare.directionUnknown}</option>}
        <option value="lower">{words.compare.lower}</option>
        <option value="higher">{words.compare.higher}</option>
      </select>
    </div>
  )
}
