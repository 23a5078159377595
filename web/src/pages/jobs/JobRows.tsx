import { type Dispatch, Fragment, memo, type SetStateAction, useCallback, useRef, useState } from 'react'
import type { JobSummary, Sort } from '../../api/queries.ts'
import { label } from '../../api/queries.ts'
import { duration, resources } from '../../format.ts'
import { Button } from '../../ui/Button.tsx'
import { Icon, type IconName } from '../../ui/Icon.tsx'
import { SortHead } from '../../ui/SortHead.tsx'
import { State } from '../../ui/State.tsx'
import { Ago, Left, Span } from '../../ui/Time.tsx'
import { useReason, useWords } from '../../words/index.tsx'
import { Describe } from '../Describe.tsx'
import { JobName } from '../JobTable.tsx'
import type { Row } from './groups.ts'
import type { Deed } from './useDeeds.tsx'

interface Props {
  rows: Row[]
  picked: ReadonlySet<string>
  pick: Dispatch<SetStateAction<ReadonlySet<string>>>
  ask: Ask
  sort: Sort
  setSort: (sort: Sort) => void
}

type Ask = (deed: Deed, jobs: JobSummary[]) => void

export function JobRows({ rows, picked, pick, ask: askNow, sort, setSort }: Props) {
  const words = useWords()
  const ids = rows.flatMap(row => [row.job, ...row.earlier]).map(job => job.id)
  const all = ids.every(id => picked.has(id))
  const toggle = useCallback(
    (id: string) =>
      pick(old => {
        const next = new Set(old)
        if (!next.delete(id)) next.add(id)
        return next
      }),
    [pick],
  )
  // The same function for ever, so that rows are not drawn again for its sake.
  const asked = useRef(askNow)
  asked.current = askNow
  const ask = useCallback<Ask>((deed, jobs) => asked.current(deed, jobs), [])
  return (
    <div className="table-box">
      <table className="jobs">
        <thead>
          <tr>
            <th className="pick">
              <input
                type="checkbox"
                aria-label={words.jobs.selectAll}
                checked={all}
                onChange={() => pick(all ? new Set() : new Set(ids))}
              />
            </th>
            <SortHead label={words.jobs.name} up="name" down="-name" sort={sort} setSort={setSort} />
            <th>{words.jobs.state}</th>
            <SortHead label={words.jobs.created} up="oldest" down="newest" sort={sort} setSort={setSort} />
            <th className="number">{words.jobs.ran}</th>
            <th className="number">{words.jobs.remaining}</th>
            <th className="number">{words.jobs.tasks}</th>
            <th>{words.jobs.resources}</th>
            <th>{words.jobs.owner}</th>
            <th className="row-ends">{words.jobs.deeds}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <Versions key={row.job.id} row={row} picked={picked} toggle={toggle} ask={ask} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface RowProps {
  picked: ReadonlySet<string>
  toggle: (id: string) => void
  ask: Ask
}

function Versions({ row, picked, toggle, ask }: RowProps & { row: Row }) {
  const words = useWords()
  const [open, setOpen] = useState(false)
  return (
    <Fragment>
      <JobRow job={row.job} isPicked={picked.has(row.job.id)} toggle={toggle} ask={ask} />
      {row.earlier.length > 0 && (
        <tr className="versions">
          <td />
          <td colSpan={9}>
            <button type="button" className="button plain tight" aria-expanded={open} onClick={() => setOpen(!open)}>
              {words.jobs.moreVersions(row.earlier.length)}
            </button>
          </td>
        </tr>
      )}
      {open &&
        row.earlier.map(job => (
          <JobRow key={job.id} job={job} isPicked={picked.has(job.id)} toggle={toggle} ask={ask} />
        ))}
    </Fragment>
  )
}

/** Drawn again only when the job itself has changed: the list asks often, and most answers are the same. */
const JobRow = memo(function JobRow({
  job,
  isPicked,
  toggle,
  ask,
}: {
  job: JobSummary
  isPicked: boolean
  toggle: (id: string) => void
  ask: Ask
}) {
  const words = useWords()
  const reason = useReason(job)
  return (
    <tr aria-selected={isPicked}>
      <td className="pick">
        <input
          type="checkbox"
          aria-label={words.jobs.select(label(job))}
          checked={isPicked}
          onChange={() => toggle(job.id)}
        />
      </td>
      <th scope="row">
        <JobName job={job}>
          <Describe job={job} />
        </JobName>
      </th>
      <td>
        <State state={job.state} />
        {reason && (
          <div className="reason soft small clip" title={reason}>
            {reason}
          </div>
        )}
      </td>
      <td>
        <Ago at={job.created_at_ms} />
      </td>
      <td className="number">
        <Span from={job.started_at_ms} to={job.ended_at_ms} />
      </td>
      <td className="number">
        <Remaining job={job} />
      </td>
      <td className="number">{job.tasks}</td>
      <td className="asks small">{resources(job.resources)}</td>
      <td>{job.owner}</td>
      <td className="row-ends">
        <Deeds job={job} ask={ask} />
      </td>
    </tr>
  )
})

/** What is left of its limit while it goes on; nothing is left of one that has ended. */
function Remaining({ job }: { job: JobSummary }) {
  const words = useWords()
  if (job.max_duration_ms == null) return <span className="soft">–</span>
  const limit = words.app.about(words.jobs.limit, duration(job.max_duration_ms, words.units))
  return (
    <span title={limit}>
      {job.ended_at_ms == null ? (
        <Left from={job.started_at_ms} limit={job.max_duration_ms} />
      ) : (
        <span className="soft">–</span>
      )}
    </span>
  )
}

/** What people do to a job most, at the end of its row. */
function Deeds({ job, ask }: { job: JobSummary; ask: Ask }) {
  const { jobs: w } = useWords()
  const isOver = job.ended_at_ms != null
  const deed = (name: Deed, icon: IconName, said: string) => (
    <Button tight look="plain" aria-label={`${said} ${label(job)}`} title={said} onClick={() => ask(name, [job])}>
      <Icon name={icon} size={14} />
    </Button>
  )
  return isOver ? (
    <>
      {deed('again', 'again', w.again)}
      {deed('delete', 'close', w.delete)}
    </>
  ) : (
    deed('stop', 'stop', w.stop)
  )
}
