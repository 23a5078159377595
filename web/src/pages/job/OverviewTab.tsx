import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { JobDetail, RunView } from '../../api/queries.ts'
import * as queries from '../../api/queries.ts'
import { duration, resources } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Fact } from '../../ui/Fact.tsx'
import { Empty } from '../../ui/Say.tsx'
import { State } from '../../ui/State.tsx'
import { Ago, Left, Span } from '../../ui/Time.tsx'
import { useLanguage, useReason, useWords } from '../../words/index.tsx'
import { MadeWith } from './MadeWith.tsx'
import { Timeline } from './Timeline.tsx'

export function OverviewTab({ job }: { job: JobDetail }) {
  return (
    <div className="stack">
      <Facts job={job} />
      <Tasks job={job} />
      <Timeline job={job} />
    </div>
  )
}

function Facts({ job }: { job: JobDetail }) {
  const words = useWords()
  const params = Object.entries(job.params ?? {})
  return (
    <section className="panel" aria-label={words.job.tabs.overview}>
      <dl className="body facts">
        <Fact name={words.job.owner}>{job.owner}</Fact>
        <Fact name={words.job.submitted}>
          <Ago at={job.created_at_ms} />
        </Fact>
        {job.started_at_ms != null && (
          <Fact name={words.job.started}>
            <Ago at={job.started_at_ms} />
          </Fact>
        )}
        {job.ended_at_ms != null && (
          <Fact name={words.job.ended}>
            <Ago at={job.ended_at_ms} />
          </Fact>
        )}
        <Fact name={words.job.ran}>
          <Span from={job.started_at_ms} to={job.ended_at_ms} />
        </Fact>
        {job.max_duration_ms != null && (
          <Fact name={words.jobs.limit}>
            {duration(job.max_duration_ms, words.units)}
            {job.ended_at_ms == null && (
              <span className="soft">
                {' '}
                ({words.jobs.remaining} <Left from={job.started_at_ms} limit={job.max_duration_ms} />)
              </span>
            )}
          </Fact>
        )}
        <Fact name={words.job.attempt}>{job.attempt}</Fact>
        <Fact name={words.job.resources}>{resources(job.resources)}</Fact>
        <MadeWith job={job} />
        {job.priority !== 0 && <Fact name={words.job.priority}>{job.priority}</Fact>}
        {job.tags.length > 0 && (
          <Fact name={words.job.tags}>
            {job.tags.map(tag => (
              <Link key={tag} className="tag" href={paths.jobsTagged(tag)}>
                {tag}
              </Link>
            ))}
          </Fact>
        )}
        {params.length > 0 && (
          <Fact name={words.job.params}>
            <span className="mono">{params.map(([name, value]) => `${name}=${String(value)}`).join('  ')}</span>
          </Fact>
        )}
      </dl>
    </section>
  )
}

/** `worker` of `worker-0`. */
const roleOf = (task: string) => task.slice(0, task.lastIndexOf('-'))

/** The newest run of every task, with how many came before, by role. */
function byRole(runs: RunView[]): Map<string, { run: RunView; earlier: number }[]> {
  const newest = new Map<string, { run: RunView; earlier: number }>()
  for (const run of runs) {
    const found = newest.get(run.task)
    if (!found) newest.set(run.task, { run, earlier: 0 })
    else newest.set(run.task, { run: found.run.attempt >= run.attempt ? found.run : run, earlier: found.earlier + 1 })
  }
  const index = (task: string) => Number(task.slice(task.lastIndexOf('-') + 1))
  const all = [...newest.values()].sort((a, b) => index(a.run.task) - index(b.run.task))
  return Map.groupBy(all, it => roleOf(it.run.task))
}

function Tasks({ job }: { job: JobDetail }) {
  const words = useWords()
  const { data: nodes } = useQuery(queries.nodes())
  const addressOf = (run: RunView) => nodes?.find(node => node.name === run.node)?.address
  if (job.runs.length === 0) {
    return (
      <section className="panel">
        <Empty icon="box" title={words.job.noTasks} hint={words.job.noTasksHint} />
      </section>
    )
  }
  return [...byRole(job.runs)].map(([role, tasks]) => (
    <section key={role} className="panel" aria-label={role}>
      <header>
        <h2>{words.job.role(role, tasks.length)}</h2>
      </header>
      <div className="table-box">
        <table>
          <thead>
            <tr>
              <th>{words.job.task}</th>
              <th>{words.job.state}</th>
              <th>{words.job.node}</th>
              <th>{words.job.address}</th>
              <th>{words.job.ports}</th>
              <th>{words.job.devices}</th>
              <th className="number">{words.job.duration2}</th>
              <th className="number">{words.job.exit}</th>
              <th>{words.job.log}</th>
            </tr>
          </thead>
          <tbody>
            {tasks.map(({ run, earlier }) => (
              <TaskRow key={run.task} job={job} run={run} earlier={earlier} address={addressOf(run)} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  ))
}

interface RowProps {
  job: JobDetail
  run: RunView
  earlier: number
  address: string | undefined
}

function TaskRow({ job, run, earlier, address }: RowProps) {
  const { words, language } = useLanguage()
  const missing = (language === 'zh' && run.missing_zh) || run.missing
  const reason = useReason(run)
  const ports = Object.entries(run.ports).map(([label, numbers]) => `${label} ${numbers.join(', ')}`)
  const devices = Object.entries(run.devices).map(
    ([kind, indices]) => `${kind} ${indices.map(it => `#${it}`).join(' ')}`,
  )
  return (
    <tr>
      <th scope="row" className="nowrap">
        {run.task}
        {earlier > 0 && <div className="soft small">{words.job.pastAttempts(earlier)}</div>}
      </th>
      <td>
        <State state={run.state} />
        {reason && <div className="soft small task-reason">{reason}</div>}
        {missing.map(what => (
          <div key={what} className="soft small">
            {what}
          </div>
        ))}
      </td>
      <td className="nowrap">{run.node}</td>
      <td className="mono nowrap">{address ?? '–'}</td>
      <td className="mono">
        {ports.map(port => (
          <div key={port} className="nowrap">
            {port}
          </div>
        ))}
        {ports.length === 0 && '–'}
      </td>
      <td className="nowrap">{devices.join(' · ') || '–'}</td>
      <td className="number">
        <Span from={run.started_at_ms} to={run.ended_at_ms} />
      </td>
      <td className="number">{run.exit_code ?? '–'}</td>
      <td>
        <Link href={paths.logsOf(job.id, run.task)} aria-label={words.job.openLog(run.task)}>
          {words.job.log}
        </Link>
      </td>
    </tr>
  )
}
