import { setDuration } from '../../api/actions.ts'
import type { JobDetail } from '../../api/queries.ts'
import { written } from '../../format.ts'
import { useWords } from '../../words/index.tsx'
import { ChangeDialog } from '../ChangeDialog.tsx'

/** Another limit for a job that has not ended. */
export function DurationDialog({ job, onClose }: { job: JobDetail; onClose: () => void }) {
  const { job: w, jobs } = useWords()
  return (
    <ChangeDialog
      title={w.durationTitle}
      label={jobs.limit}
      help={w.durationHelp}
      placeholder="12h"
      text={job.max_duration_ms == null ? '' : written(job.max_duration_ms)}
      yes={w.durationSubmit}
      set={text => setDuration(job.id, text)}
      said={w.durationSet}
      onClose={onClose}
    />
  )
}
