import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { tellingOf } from '../api/error.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { TextArea, TextField } from '../ui/Field.tsx'
import { useToasts } from '../ui/Toasts.tsx'
import { useLanguage } from '../words/index.tsx'

interface Props {
  title: string
  label: string
  help: string
  placeholder?: string
  /** What holds now. */
  text: string
  /** Whether it may have several lines. */
  isLong?: boolean
  mayBeEmpty?: boolean
  yes: string
  /** Tells the server; what it refuses is said beside the field. */
  set: (text: string) => Promise<unknown>
  /** What is said when it is done. */
  said: string
  onClose: () => void
}

/** Changes one thing about a job that is there. It begins with what holds. */
export function ChangeDialog({ title, yes, set, said, onClose, isLong, mayBeEmpty, text: old, ...around }: Props) {
  const { words, language } = useLanguage()
  const client = useQueryClient()
  const { tell } = useToasts()
  const [text, setText] = useState(old)
  const [wrong, setWrong] = useState<string | null>(null)
  const refused = text.trim() === '' && !mayBeEmpty ? around.help : null
  const go = async () => {
    try {
      await set(text.trim())
      tell(said)
      await Promise.all(['job', 'jobs'].map(key => client.invalidateQueries({ queryKey: [key] })))
      onClose()
    } catch (error) {
      const { message, hint } = tellingOf(error, language)
      setWrong([message, hint].filter(Boolean).join(' '))
    }
  }
  const field = {
    ...around,
    value: text,
    wrong,
    onChange: (event: { target: { value: string } }) => {
      setText(event.target.value)
      setWrong(null)
    },
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {isLong ? (
        <TextArea rows={5} {...field} />
      ) : (
        <TextField {...field} onKeyDown={event => event.key === 'Enter' && refused === null && go()} />
      )}
      <div className="ends">
        <Button onClick={onClose}>{words.app.cancel}</Button>
        <Button look="primary" refused={refused} onClick={go}>
          {yes}
        </Button>
      </div>
    </Dialog>
  )
}
