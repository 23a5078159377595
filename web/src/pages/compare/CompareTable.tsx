import { Link } from 'wouter'
import type { ComparedJob, ComparedRow, Comparison, Delta, RowKind } from '../../api/compare.ts'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/Button.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { Scrolls } from '../../ui/Scrolls.tsx'
import { State } from '../../ui/State.tsx'
import { Ago } from '../../ui/Time.tsx'
import { useWords } from '../../words/index.tsx'
import { Best } from './Best.tsx'
import { MetricName } from './MetricName.tsx'
import { rowName, rowValue } from './named.ts'
import type { useCompared } from './useCompared.ts'

export type Compared = ReturnType<typeof useCompared>

const RESULTS: ReadonlySet<RowKind> = new Set(['metric', 'duration', 'usage', 'ending'])

/** Jobs as columns, what is told of them as rows: first what they were given, then what came of it. */
export function CompareTable({ found, compared }: { found: Comparison; compared: Compared }) {
  const words = useWords()
  const given = found.rows.filter(row => !RESULTS.has(row.kind))
  const results = found.rows.filter(row => RESULTS.has(row.kind))
  return (
    <Scrolls label={words.compare.columns}>
      <table className="compared">
        <thead>
          <tr>
            <th scope="col">{words.compare.what}</th>
            {found.jobs.map((job, at) => (
              <Column key={job.id} job={job} at={at} compared={compared} isBest={found.best?.id === job.id} />
            ))}
          </tr>
        </thead>
        <Part
          title={words.compare.given}
          rows={given}
          found={found}
          compared={compared}
          none={words.compare.nothingDiffers}
        />
        <Part
          title={words.compare.results}
          rows={results}
          found={found}
          compared={compared}
          none={words.compare.noResults}
        />
      </table>
    </Scrolls>
  )
}

function Column({ job, at, compared, isBest }: { job: ComparedJob; at: number; compared: Compared; isBest: boolean }) {
  const words = useWords()
  return (
    <th scope="col" className="compared-job">
      <div className="row">
        <Link href={paths.job(job.id)}>{job.label}</Link>
        {isBest && <Best />}
      </div>
      <div className="row">
        <State state={job.state} />
        <span className="soft">
          <Ago at={job.created_at_ms} />
        </span>
      </div>
      <div className="row">
        {at === 0 ? (
          <span className="soft">{words.compare.baseline}</span>
        ) : (
          <Button look="plain" tight aria-label={words.compare.first(job.label)} onClick={() => compared.putFirst(at)}>
            {words.compare.makeFirst}
          </Button>
        )}
        <Button
          look="plain"
          tight
          title={words.compare.remove(job.label)}
          aria-label={words.compare.remove(job.label)}
          onClick={() => compared.remove(at)}
        >
          <Icon name="close" size={12} />
        </Button>
      </div>
    </th>
  )
}

interface PartProps {
  title: string
  rows: ComparedRow[]
  found: Comparison
  compared: Compared
  none: string
}

function Part({ title, rows, found, compared, none }: PartProps) {
  const words = useWords()
  const wide = found.jobs.length + 1
  return (
    <tbody>
      <tr className="compared-part">
        <th scope="rowgroup" colSpan={wide}>
          {title}
          {rows.length === 0 && <span className="soft"> {none}</span>}
        </th>
      </tr>
      {rows.map((row, at) => [
        row.kind !== rows[at - 1]?.kind && (
          <tr key={row.kind} className="compared-kind">
            <th scope="rowgroup" colSpan={wide}>
              {words.compare.kinds[row.kind]}
            </th>
          </tr>
        ),
        <Row key={`${row.kind} ${row.name}`} row={row} rows={rows} jobs={found.jobs} compared={compared} />,
      ])}
    </tbody>
  )
}

interface RowProps {
  row: ComparedRow
  rows: ComparedRow[]
  jobs: ComparedJob[]
  compared: Compared
}

function Row({ row, rows, jobs, compared }: RowProps) {
  const words = useWords()
  return (
    <tr className={row.differs ? undefined : 'same'}>
      <th scope="row">
        {row.metric ? (
          <MetricName row={row} rows={rows} setMetric={compared.setMetric} />
        ) : (
          <span className="compared-name">{rowName(row, words)}</span>
        )}
      </th>
      {jobs.map((job, at) => (
        <Cell key={job.id} row={row} at={at} />
      ))}
    </tr>
  )
}

function Cell({ row, at }: { row: ComparedRow; at: number }) {
  const words = useWords()
  const value = row.values[at]
  const delta = row.deltas?.[at]
  const metric = row.metric?.values[at]
  // Results differ between any two runs; only what was given stands out by it.
  const isGiven = !RESULTS.has(row.kind)
  const isOther = isGiven && at > 0 && row.differs && value !== row.values[0]
  if (value == null) return <td className="soft">{isGiven ? words.compare.absent : '–'}</td>
  return (
    <td className={isOther ? 'other' : undefined}>
      <span className="compared-value">{rowValue(row, value, words)}</span>
      {row.metric?.best === at && <Best />}
      {delta && <Change delta={delta} />}
      {metric?.best && (
        <div className="soft small">
          {words.compare.atStep(metric.best.step)} · {words.compare.last(short(metric.last))}
        </div>
      )}
    </td>
  )
}

/** Six digits are enough to tell one result from another; what is no number says so itself. */
export function short(value: unknown): string {
  return typeof value === 'number' ? String(Number(value.toPrecision(6))) : String(value)
}

function Change({ delta }: { delta: Delta }) {
  if (delta.by === 0) return null
  const sign = delta.by > 0 ? '+' : '−'
  const percent = delta.percent == null ? '' : ` (${sign}${Math.abs(delta.percent).toFixed(1)}%)`
  const tone = delta.better == null ? 'soft' : delta.better ? 'better' : 'worse'
  // A share says enough of seconds and bytes, whose numbers are long.
  const by =
    delta.better == null && percent ? percent.trim().slice(1, -1) : `${sign}${short(Math.abs(delta.by))}${percent}`
  return <span className={`compared-change small ${tone}`}> {by}</span>
}
