import { exactNumber } from '../../../charts/axes.ts'
import { swatch } from '../../../charts/useCanvas.ts'
import { toNumber } from '../../../curves/pieces.ts'
import { useWords } from '../../../words/index.tsx'
import { type ChartLine, type Metric, outcome } from './metrics.ts'

interface Props {
  metric: Metric
  lines: ChartLine[]
  hidden: ReadonlySet<string>
  onHidden: (hidden: ReadonlySet<string>) => void
}

type Extreme = { value: number; step: number } | undefined

/** The lines of a chart by name, with their best and their last value. Each can be taken out of the picture. */
export function Legend({ metric, lines, hidden, onHidden }: Props) {
  const { curves: words, charts } = useWords()
  const toggle = (key: string) => {
    const next = new Set(hidden)
    if (!next.delete(key)) next.add(key)
    onHidden(next)
  }
  const best = metric.better === 'lower' ? 'least' : 'greatest'
  const comes = lines.map(it => outcome(it.attempts))
  const bests = comes.flatMap(it => it[best]?.value ?? [])
  const winner = metric.better === 'lower' ? Math.min(...bests) : Math.max(...bests)
  return (
    <div className="legend" tabIndex={lines.length > 5 ? 0 : undefined}>
      <table>
        <thead>
          <tr>
            <th>{words.line}</th>
            {metric.better ? (
              <th className="number">{words.best}</th>
            ) : (
              <>
                <th className="number">{words.least}</th>
                <th className="number">{words.greatest}</th>
              </>
            )}
            <th className="number">{words.last}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ key, label, tone }, at) => {
            const come = comes[at]
            if (!come) return null
            return (
              <tr key={key} className={hidden.has(key) ? 'hidden-line' : undefined}>
                <th scope="row">
                  <button
                    type="button"
                    className="line-name"
                    aria-pressed={!hidden.has(key)}
                    aria-label={charts.show(label)}
                    onClick={() => toggle(key)}
                  >
                    <span className={swatch(tone)} />
                    <span className="clip">{label}</span>
                  </button>
                  {come.notFinite > 0 && (
                    <span className="odd-mark" title={words.notFinite(come.notFinite)}>
                      {words.notFinite(come.notFinite)}
                    </span>
                  )}
                </th>
                {metric.better ? (
                  <Value of={come[best]} isBest={lines.length > 1 && come[best]?.value === winner} />
                ) : (
                  <>
                    <Value of={come.least} />
                    <Value of={come.greatest} />
                  </>
                )}
                <Value of={come.last && { ...come.last, value: toNumber(come.last.value) }} />
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function Value({ of, isBest }: { of: Extreme; isBest?: boolean }) {
  const { curves: words, locale } = useWords()
  if (!of) return <td className="number">–</td>
  const step = words.atStep(of.step.toLocaleString(locale))
  return (
    <td className="number" title={isBest ? words.bestOfAll(step) : step}>
      {isBest && (
        <span className="best-mark" role="img" aria-label={words.bestOfAll(step)}>
          ★
        </span>
      )}
      {Number.isFinite(of.value) ? exactNumber(of.value) : String(of.value)}
    </td>
  )
}
