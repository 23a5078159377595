import { useState } from 'react'
import { setDescription } from '../api/actions.ts'
import { type JobSummary, label } from '../api/queries.ts'
import { Button } from '../ui/Button.tsx'
import { Icon } from '../ui/Icon.tsx'
import { useWords } from '../words/index.tsx'
import { ChangeDialog } from './ChangeDialog.tsx'

/** A pencil beside what is said about a job. */
export function Describe({ job }: { job: Pick<JobSummary, 'id' | 'name' | 'version' | 'description'> }) {
  const { create, job: w } = useWords()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button
        tight
        look="plain"
        className="describe"
        aria-label={w.describe(label(job))}
        title={w.describe(label(job))}
        onClick={() => setOpen(true)}
      >
        <Icon name="pencil" size={12} />
      </Button>
      {isOpen && (
        <ChangeDialog
          title={w.describe(label(job))}
          label={create.description}
          help={w.describeHelp}
          text={job.description}
          isLong
          mayBeEmpty
          yes={w.describeSubmit}
          set={text => setDescription(job.id, text)}
          said={w.described}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}
