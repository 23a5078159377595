import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { setDuration } from '../../api/actions.ts'
import { tellingOf } from '../../api/error.ts'
import type { JobDetail } from '../../api/queries.ts'
import { written } from '../../format.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { TextField } from '../../ui/Field.tsx'
import { useToasts } from '../../ui/Toasts.tsx'
import { useLanguage } from '../../words/index.tsx'

/** Another limit for a job that has not ended. It begins with the one that holds. */
export function DurationDialog({ job, onClose }: { job: JobDetail; onClose: () => void }) {
  const { words, language } = useLanguage()
  const client = useQueryClient()
  const { tell } = useToasts()
  const [text, setText] = useState(job.max_duration_ms == null ? '' : written(job.max_duration_ms))
  const [wrong, setWrong] = useState<string | null>(null)
  const go = async () => {
    try {
      await setDuration(job.id, text.trim())
      tell(words.job.durationSet)
      await client.invalidateQueries({ queryKey: ['job'] })
      onClose()
    } catch (error) {
      const { message, hint } = tellingOf(error, language)
      setWrong([message, hint].filter(Boolean).join(' '))
    }
  }
  const change = (next: string) => {
    setText(next)
    setWrong(null)
  }
  return (
    <Dialog title={words.job.durationTitle} onClose={onClose}>
      <TextField
        label={words.jobs.limit}
        help={words.job.durationHelp}
        placeholder="12h"
        value={text}
        wrong={wrong}
        onChange={event => change(event.target.value)}
        onKeyDown={event => event.key === 'Enter' && go()}
      />
      <div className="ends">
        <Button onClick={onClose}>{words.app.cancel}</Button>
        <Button look="primary" refused={text.trim() === '' ? words.job.durationHelp : null} onClick={go}>
          {words.job.durationSubmit}
        </Button>
      </div>
    </Dialog>
  )
}
