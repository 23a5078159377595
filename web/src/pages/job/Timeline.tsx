import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { EventView, JobDetail } from '../../api/queries.ts'
import * as queries from '../../api/queries.ts'
import { clock, day, exactTime } from '../../format.ts'
import { Button } from '../../ui/Button.tsx'
import { Rich, Trouble } from '../../ui/Say.tsx'
import { useReason, useWords } from '../../words/index.tsx'

/** So many are drawn at first, and so many more at each press. */
const SHOWN = 200

/** What happened to the job, newest first, with the day above each day's events. */
export function Timeline({ job }: { job: JobDetail }) {
  const words = useWords()
  const [shown, show] = useState(SHOWN)
  const { data: events = [], error } = useQuery(queries.jobEvents(job.id))
  const newest = events.slice(-shown).reverse()
  const left = events.length - newest.length
  const days = [...Map.groupBy(newest, event => day(event.at_ms, words.locale))]
  return (
    <section className="panel" aria-label={words.job.timeline}>
      <header>
        <h2>{words.job.timeline}</h2>
      </header>
      {error && <Trouble error={error} />}
      {days.map(([name, happened]) => (
        <div key={name} className="body timeline-day">
          <h3>{name}</h3>
          <ol className="timeline">
            {happened.map(event => (
              <Happened key={event.seq} event={event} />
            ))}
          </ol>
        </div>
      ))}
      {left > 0 && (
        <div className="body">
          <Button tight look="plain" onClick={() => show(shown + SHOWN)}>
            {words.job.earlierEvents(left)}
          </Button>
        </div>
      )}
    </section>
  )
}

function Happened({ event }: { event: EventView }) {
  const words = useWords()
  const reason = useReason(event)
  return (
    <li>
      <time
        className="mono soft"
        dateTime={new Date(event.at_ms).toISOString()}
        title={exactTime(event.at_ms, words.locale)}
      >
        {clock(event.at_ms)}
      </time>
      <span className="nowrap">
        {event.task && <strong>{event.task} </strong>}
        {words.job.events[event.kind] ?? words.states[event.kind as keyof typeof words.states] ?? event.kind}
      </span>
      <span className="soft">
        <Rich text={reason} />
      </span>
    </li>
  )
}
