import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { deleteJob, stopJob, syncJob } from '../../api/actions.ts'
import { type Action, type JobDetail, label } from '../../api/queries.ts'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/Button.tsx'
import { Confirm } from '../../ui/Confirm.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { useToasts } from '../../ui/Toasts.tsx'
import { useLanguage } from '../../words/index.tsx'
import { DurationDialog } from './DurationDialog.tsx'

/** What can be done to the job. The server says what, and why not. */
export function JobActions({ job }: { job: JobDetail }) {
  const { words, language } = useLanguage()
  const client = useQueryClient()
  const [, go] = useLocation()
  const { tell, tellError } = useToasts()
  const [asking, ask] = useState<'stop' | 'delete' | 'duration' | null>(null)
  const why = (action: Action) => (language === 'zh' && action.refused_zh) || action.refused
  const { stop, rerun, delete: remove } = job.actions
  const close = () => ask(null)
  const isUnsaved = job.runs.some(run => run.sync?.kind === 'given_up')

  const perform = async (act: () => Promise<unknown>, said: string) => {
    try {
      await act()
      tell(said)
      await client.invalidateQueries({ queryKey: ['job'] })
      return true
    } catch (error) {
      tellError(error)
      return false
    }
  }
  const deleteAndLeave = async () => {
    if (await perform(() => deleteJob(job.id), words.job.deleted(label(job)))) go(paths.jobs)
  }

  return (
    <>
      {isUnsaved && (
        <Button title={words.job.syncHint} onClick={() => perform(() => syncJob(job.id), words.job.syncAsked)}>
          {words.job.sync}
        </Button>
      )}
      <Button refused={why(stop)} onClick={() => ask('duration')}>
        {words.job.duration}
      </Button>
      <Button refused={why(rerun)} title={words.job.rerunHint} onClick={() => go(paths.createFrom(job.id))}>
        <Icon name="again" />
        {words.job.rerun}
      </Button>
      <Button title={words.job.cloneHint} onClick={() => go(paths.createFrom(job.id, 'clone'))}>
        {words.job.clone}
      </Button>
      <Button title={words.job.continueHint} onClick={() => go(paths.createFrom(job.id, 'continue'))}>
        {words.job.continue}
      </Button>
      <Button refused={why(stop)} onClick={() => ask('stop')}>
        <Icon name="stop" />
        {words.job.stop}
      </Button>
      <Button look="danger" refused={why(remove)} onClick={() => ask('delete')}>
        {words.job.delete}
      </Button>
      {asking === 'stop' && (
        <Confirm
          title={words.job.stopTitle(label(job))}
          hint={words.jobs.stopHint}
          yes={words.job.stop}
          onYes={() => perform(() => stopJob(job.id), words.job.stopped(label(job)))}
          onClose={close}
        />
      )}
      {asking === 'delete' && (
        <Confirm
          title={words.job.deleteTitle(label(job))}
          hint={words.jobs.deleteHint}
          yes={words.job.delete}
          onYes={deleteAndLeave}
          onClose={close}
        />
      )}
      {asking === 'duration' && <DurationDialog job={job} onClose={close} />}
    </>
  )
}
