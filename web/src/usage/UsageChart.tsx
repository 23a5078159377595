import { useMemo } from 'react'
import { times } from '../charts/axes.ts'
import { Chart } from '../charts/Chart.tsx'
import { ChartTable } from '../charts/ChartTable.tsx'
import { type Cursor, usePlace } from '../charts/cursor.ts'
import { nearest, type Range } from '../charts/line.ts'
import type { Series } from '../charts/picture.ts'
import { valueAt } from '../charts/tell.ts'
import { swatch } from '../charts/useCanvas.ts'
import { useLanguage, useWords } from '../words/index.tsx'
import { absences, type Figure, limitOf, type Panel, type Reason, type Subject, seriesOf } from './panels.ts'
import { useAmounts } from './useAmounts.ts'

/** As wide as `1000 MiB`. */
const LABEL_PX = 56

interface Props {
  panel: Panel
  subjects: Subject[]
  at_ms: number[]
  /** What all charts of the page show. */
  whole: Range
  range: Range | null
  onRange: (range: Range | null) => void
  cursor: Cursor
}

/** One chart of what is used, with a value of each line: where the reader points to, or the latest. */
export function UsageChart({ panel, subjects, at_ms, whole, range, onRange, cursor }: Props) {
  const { usage: words, locale } = useWords()
  const y = useAmounts()[panel.key]
  const x = useMemo(() => times(locale), [locale])
  const series = useMemo(() => {
    const names: Partial<Record<Figure, string>> = {
      read_bytes_per_s: words.read,
      written_bytes_per_s: words.written,
      received_bytes_per_s: words.received,
      sent_bytes_per_s: words.sent,
    }
    return seriesOf(panel, subjects, at_ms, figure => names[figure] ?? '')
  }, [panel, subjects, at_ms, words])
  const limits = useMemo(() => {
    const tell = subjects.length > 1 ? words.limitEach : words.limit
    return limitOf(panel, subjects, amount => tell(y.exact(amount)))
  }, [panel, subjects, words, y])
  const title = words[panel.key]
  return (
    <section className="panel curve-card" aria-label={title}>
      <header>
        <h3>{title}</h3>
      </header>
      <div className="body">
        {series.length > 0 ? (
          <>
            <Chart
              label={title}
              series={series}
              x={x}
              y={y}
              fromZero
              limits={limits}
              labelPx={LABEL_PX}
              range={range}
              whole={whole}
              onRange={onRange}
              cursor={cursor}
            />
            <Values series={series} cursor={cursor} show={(it, index) => valueAt(it, index, y)} />
            <ChartTable label={title} series={series} x={x} y={y} range={range} />
          </>
        ) : (
          absences(panel, subjects).length === 0 && <p className="soft small">{words.waiting}</p>
        )}
        <Absences panel={panel} subjects={subjects} />
      </div>
    </section>
  )
}

interface ValuesProps {
  series: Series[]
  cursor: Cursor
  show: (series: Series, index: number) => string
}

function Values({ series, cursor, show }: ValuesProps) {
  const at = usePlace(cursor)
  return (
    <ul className="usage-values">
      {series.map(it => (
        <li key={it.key}>
          <span className={swatch(it.tone)} />
          <span className="clip">{it.label}</span>
          <span className="value">{show(it, at === null ? it.line.x.length - 1 : nearest(it.line.x, at))}</span>
        </li>
      ))}
    </ul>
  )
}

function Absences({ panel, subjects }: Pick<Props, 'panel' | 'subjects'>) {
  const { usage: words } = useWords()
  return absences(panel, subjects).map(({ who, why }) => (
    <p key={why.reason} className="soft small">
      {who.length < subjects.length ? words.absentFor(who.join(', ')) : `${words.absent}:`} <Say why={why} />
    </p>
  ))
}

function Say({ why }: { why: Reason }) {
  const { language } = useLanguage()
  return (language === 'zh' && why.reason_zh) || why.reason
}
