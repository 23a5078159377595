import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { JobDetail } from '../../api/queries.ts'
import * as queries from '../../api/queries.ts'
import { paths } from '../../paths.ts'
import { Rich, Trouble } from '../../ui/Say.tsx'
import { State } from '../../ui/State.tsx'
import { useLanguage } from '../../words/index.tsx'
import { Failure } from './Failure.tsx'
import { Waits } from './Waits.tsx'
import './why.css'

export type Explanation = NonNullable<
  Awaited<ReturnType<NonNullable<ReturnType<typeof queries.explanation>['queryFn']>>>
>

/** Whether any of its tasks still waits for a place; of others the nodes' tables would say nothing. */
function isWaiting(job: JobDetail): boolean {
  if (job.state === 'queued') return true
  const placed = new Set(job.runs.map(run => run.task)).size
  return ['starting', 'running'].includes(job.state) && placed < job.tasks
}

export default function WhyTab({ job }: { job: JobDetail }) {
  const { language } = useLanguage()
  const { data: why, error } = useQuery(queries.explanation(job.id, language))
  if (error) return <Trouble error={error} />
  if (!why) return null
  return (
    <div className="stack">
      <Now job={job} why={why} />
      {why.failure && <Failure job={job} why={why} failure={why.failure} />}
      {isWaiting(job) && <Waits why={why} />}
    </div>
  )
}

/** What the catalogue advises stands first; what always helps is behind it in the server's sentence. */
function withoutAdvice(nextStep: string, advice: string): string {
  return advice && nextStep.startsWith(advice) ? nextStep.slice(advice.length).replace(/^[;；]\s*/, '') : nextStep
}

function Now({ job, why }: { job: JobDetail; why: Explanation }) {
  const { words } = useLanguage()
  const advice = why.failure?.diagnosis?.advice ?? ''
  const rest = withoutAdvice(why.next_step, advice)
  const isOver = job.ended_at_ms != null
  return (
    <section className="panel" aria-label={words.why.now}>
      <header>
        <h2>{words.why.now}</h2>
        <State state={why.state} />
      </header>
      <div className="body stack">
        <p>
          <Rich text={why.reason || words.states[why.state]} />
        </p>
        {why.before.length > 0 && (
          <p>
            <strong>{words.why.before}</strong>{' '}
            {why.before.map(name => (
              <Link key={name} className="tag" href={paths.job(name)}>
                {name}
              </Link>
            ))}
          </p>
        )}
        {(advice || rest) && (
          <div className="advice">
            <h3>{words.ending.advice}</h3>
            {advice && (
              <p className="advised">
                <Rich text={advice} />
              </p>
            )}
            {rest && (
              <p className={advice ? 'soft small' : undefined}>
                <Rich text={rest} />
              </p>
            )}
            {isOver && <Ways job={job} task={why.failure?.task} />}
          </div>
        )}
      </div>
    </section>
  )
}

/** The same that the advice names as commands, for the hand on the mouse. */
function Ways({ job, task }: { job: JobDetail; task: string | undefined }) {
  const { words } = useLanguage()
  return (
    <div className="row">
      <Link className="button tight" href={task ? paths.logsOf(job.id, task) : paths.job(job.id, 'logs')}>
        {words.ending.openLog}
      </Link>
      <Link className="button tight" href={paths.job(job.id, 'files')}>
        {words.ending.files}
      </Link>
      <Link className="button tight" href={paths.createFrom(job.id)}>
        {words.ending.runAgain}
      </Link>
    </div>
  )
}
