import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { deleteJob, runAgain, stopJob } from '../../api/actions.ts'
import { type JobSummary, label } from '../../api/queries.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { useToasts } from '../../ui/Toasts.tsx'
import { useWords } from '../../words/index.tsx'

export type Deed = 'stop' | 'again' | 'delete'

const ACTS: Record<Deed, (id: string) => Promise<unknown>> = {
  stop: stopJob,
  again: runAgain,
  delete: id => deleteJob(id),
}

interface Deeds {
  /** Asks whether this is meant, and does it to each of them. The server has the last word about each. */
  ask: (deed: Deed, jobs: JobSummary[]) => void
  dialog: ReactNode
}

export function useDeeds(done: () => void): Deeds {
  const words = useWords()
  const client = useQueryClient()
  const { tell, tellError } = useToasts()
  const [asked, setAsked] = useState<{ deed: Deed; jobs: JobSummary[] } | null>(null)
  const ask = (deed: Deed, jobs: JobSummary[]) => setAsked({ deed, jobs })
  if (!asked) return { ask, dialog: null }

  const { deed, jobs } = asked
  const w = {
    stop: { title: words.jobs.stopTitle, hint: words.jobs.stopHint, yes: words.jobs.stop, said: words.jobs.stopped },
    again: { title: words.jobs.againTitle, hint: words.jobs.againHint, yes: words.jobs.again, said: words.jobs.begun },
    delete: {
      title: words.jobs.deleteTitle,
      hint: words.jobs.deleteHint,
      yes: words.jobs.delete,
      said: words.jobs.deleted,
    },
  }[deed]
  const perform = async () => {
    const results = await Promise.allSettled(jobs.map(job => ACTS[deed](job.id)))
    results.forEach((result, index) => {
      const job = jobs[index]
      if (result.status === 'rejected' && job) tellError(result.reason, label(job))
    })
    const worked = results.filter(result => result.status === 'fulfilled').length
    if (worked > 0) tell(w.said(worked))
    await client.invalidateQueries({ queryKey: ['jobs'] })
    done()
  }
  const dialog = (
    <Confirm
      title={w.title(jobs.length)}
      hint={w.hint}
      names={jobs.map(label)}
      yes={w.yes}
      onYes={perform}
      onClose={() => setAsked(null)}
    />
  )
  return { ask, dialog }
}
