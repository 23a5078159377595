import { useLocation } from 'wouter'
import { COMPARED_MAX } from '../../api/compare.ts'
import type { JobSummary } from '../../api/queries.ts'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/Button.tsx'
import { useWords } from '../../words/index.tsx'
import type { Deed } from './useDeeds.tsx'

interface Props {
  jobs: JobSummary[]
  ask: (deed: Deed, jobs: JobSummary[]) => void
}

/** What can be done to all that are selected at once. */
export function Batch({ jobs, ask }: Props) {
  const words = useWords()
  const [, go] = useLocation()
  if (jobs.length === 0) return null
  const notCompared =
    jobs.length < 2 ? words.compare.needsTwo : jobs.length > COMPARED_MAX ? words.compare.atMost(COMPARED_MAX) : null
  const running = jobs.filter(job => job.ended_at_ms == null)
  const over = jobs.filter(job => job.ended_at_ms != null)
  return (
    <header className="batch">
      <strong>{words.jobs.selected(jobs.length)}</strong>
      <div className="row">
        <Button refused={notCompared} onClick={() => go(paths.compare(jobs.map(job => job.id).toReversed()))}>
          {words.compare.open}
        </Button>
        <Button refused={running.length > 0 ? null : words.jobs.onlyRunning} onClick={() => ask('stop', running)}>
          {words.jobs.stop}
        </Button>
        <Button
          look="danger"
          refused={over.length > 0 ? null : words.jobs.onlyOver}
          onClick={() => ask('delete', over)}
        >
          {words.jobs.delete}
        </Button>
      </div>
    </header>
  )
}
