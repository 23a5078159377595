import { Link } from 'wouter'
import type { JobDetail } from '../../api/queries.ts'
import { paths } from '../../paths.ts'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { Rich } from '../../ui/Say.tsx'
import { State } from '../../ui/State.tsx'
import { useWords } from '../../words/index.tsx'
import type { Explanation } from './WhyTab.tsx'

type FailureView = NonNullable<Explanation['failure']>

/** The task that failed first: what it died of, how that is known, and what was decided then. */
export function Failure({ job, why, failure }: { job: JobDetail; why: Explanation; failure: FailureView }) {
  const words = useWords()
  const { diagnosis } = failure
  const retry = why.rule || (diagnosis ? words.ending.classes[diagnosis.retry] : '')
  return (
    <section className="panel" aria-label={words.ending.whatHappened}>
      <header>
        <h2>{words.ending.whatHappened}</h2>
        {diagnosis && (
          <Link className="tag" href={paths.help('endings', diagnosis.id)} title={words.ending.catalogue}>
            {diagnosis.id}
          </Link>
        )}
      </header>
      <div className="body stack">
        {diagnosis && (
          <p className="diagnosis">
            <strong>{diagnosis.title}</strong> <Rich text={diagnosis.sentence} />
          </p>
        )}
        <dl className="failure-facts">
          <dt>{words.ending.firstFailed}</dt>
          <dd>
            <Link href={paths.logsOf(job.id, failure.task)}>{failure.task}</Link> <State state={failure.state} />{' '}
            {failure.ending} <span className="soft small">({words.ending.attempt(failure.attempt)})</span>
          </dd>
          {why.consequence && (
            <>
              <dt>{words.ending.consequence}</dt>
              <dd>{why.consequence}</dd>
            </>
          )}
          {retry && (
            <>
              <dt>{words.ending.retry}</dt>
              <dd>
                <Rich text={retry} />
              </dd>
            </>
          )}
        </dl>
        <Proof failure={failure} />
        {(why.others ?? []).length > 0 && <Others job={job} others={why.others ?? []} />}
      </div>
    </section>
  )
}

function Proof({ failure }: { failure: FailureView }) {
  const words = useWords()
  const evidence = failure.diagnosis?.evidence ?? []
  return (
    <>
      {evidence.length > 0 && (
        <figure>
          <figcaption>{words.ending.proof}</figcaption>
          <CodeBlock label={words.ending.proof} text={evidence.join('\n')} />
        </figure>
      )}
      {failure.traceback && (
        <figure>
          <figcaption>{words.ending.traceback}</figcaption>
          <CodeBlock label={words.ending.traceback} text={failure.traceback} />
        </figure>
      )}
      {failure.tail && (
        <details open={!failure.traceback}>
          <summary>{words.ending.tail}</summary>
          <CodeBlock label={words.ending.tail} text={failure.tail} />
        </details>
      )}
    </>
  )
}

function Others({ job, others }: { job: JobDetail; others: FailureView[] }) {
  const words = useWords()
  return (
    <section aria-label={words.ending.others}>
      <h3>{words.ending.others}</h3>
      <ul className="other-failures">
        {others.map(it => (
          <li key={it.task}>
            <Link href={paths.logsOf(job.id, it.task)}>{it.task}</Link> <State state={it.state} /> {it.ending}
            {it.diagnosis && (
              <div className="soft small">
                <Rich text={it.diagnosis.sentence} />
              </div>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
