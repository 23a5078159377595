import type { Dispatch, SetStateAction } from 'react'
import { Link } from 'wouter'
import type { VersionMetric, VersionRow, Versions } from '../../api/compare.ts'
import { took } from '../../format.ts'
import { paths } from '../../paths.ts'
import { State } from '../../ui/State.tsx'
import { Ago } from '../../ui/Time.tsx'
import { useWords } from '../../words/index.tsx'
import { Best } from '../compare/Best.tsx'
import { short } from '../compare/CompareTable.tsx'

interface Props {
  found: Versions
  /** The one whose page this is. */
  here: string
  picked: ReadonlySet<string>
  pick: Dispatch<SetStateAction<ReadonlySet<string>>>
}

export function VersionTable({ found, here, picked, pick }: Props) {
  const words = useWords()
  const toggle = (id: string) =>
    pick(old => (old.has(id) ? new Set([...old].filter(it => it !== id)) : new Set([...old, id])))
  return (
    <div className="table-box">
      <table className="version-table">
        <thead>
          <tr>
            <th className="pick" />
            <th>{words.versions.version}</th>
            <th>{words.jobs.state}</th>
            <th>{words.jobs.created}</th>
            <th className="number">{words.jobs.ran}</th>
            {found.params.map(name => (
              <th key={name} className="mono">
                {name}
              </th>
            ))}
            {found.metrics.map(metric => (
              <th key={metric.name} className="number">
                <MetricHead metric={metric} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {found.versions.map(row => (
            <Version key={row.id} row={row} found={found} isHere={row.id === here}>
              <input
                type="checkbox"
                aria-label={words.jobs.select(`${found.name}@${row.version}`)}
                checked={picked.has(row.id)}
                onChange={() => toggle(row.id)}
              />
            </Version>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function MetricHead({ metric }: { metric: VersionMetric }) {
  const words = useWords()
  const way = metric.direction && words.compare[metric.direction]
  return (
    <>
      <span className="mono">{metric.name}</span>
      <div className="soft small">{way ?? words.compare.noDirection}</div>
    </>
  )
}

function Version({
  row,
  found,
  isHere,
  children,
}: {
  row: VersionRow
  found: Versions
  isHere: boolean
  children: React.ReactNode
}) {
  const words = useWords()
  const params = row.params as Record<string, unknown>
  return (
    <tr aria-current={isHere ? 'true' : undefined}>
      <td className="pick">{children}</td>
      <th scope="row" className="nowrap">
        <Link href={paths.job(row.id, 'versions')}>
          {found.name}
          <span className="soft">@{row.version}</span>
        </Link>
        {isHere && <span className="tag here">{words.versions.this}</span>}
        {row.rerun_of && <div className="soft small">{words.versions.rerunOf(row.rerun_of)}</div>}
      </th>
      <td>
        <State state={row.state} />
      </td>
      <td>
        <Ago at={row.created_at_ms} />
      </td>
      <td className="number nowrap">{row.duration_ms == null ? '–' : took(row.duration_ms, words.units)}</td>
      {found.params.map(name => (
        <td key={name} className="mono param">
          {name in params ? String(params[name]) : '–'}
        </td>
      ))}
      {found.metrics.map((metric, at) => (
        <td key={metric.name} className="number nowrap">
          <Measured value={row.metrics[at] ?? null} isBest={metric.best?.version === row.version} />
        </td>
      ))}
    </tr>
  )
}

function Measured({ value, isBest }: { value: VersionRow['metrics'][number]; isBest: boolean }) {
  const words = useWords()
  if (!value) return <span className="soft">–</span>
  return (
    <span title={value.best ? words.compare.atStep(value.best.step) : words.compare.atStep(value.last_step)}>
      {isBest && <Best />} {short(value.best ? value.best.value : value.last)}
    </span>
  )
}
