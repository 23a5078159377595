import { useState } from 'react'
import { useWords } from '../words/index.tsx'
import { Button } from './Button.tsx'
import { Dialog } from './Dialog.tsx'

const NAMED_MAX = 12

interface Props {
  title: string
  hint: string
  /** What it will be done to. */
  names?: string[]
  yes: string
  onYes: () => Promise<unknown>
  onClose: () => void
}

/** Asks before something that cannot be taken back. */
export function Confirm({ title, hint, names = [], yes, onYes, onClose }: Props) {
  const words = useWords()
  const [isBusy, setBusy] = useState(false)
  const go = async () => {
    setBusy(true)
    await onYes()
    onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{hint}</p>
      {names.length > 1 && (
        <p className="mono soft">
          {names.slice(0, NAMED_MAX).join(', ')}
          {names.length > NAMED_MAX && ' …'}
        </p>
      )}
      <div className="ends">
        <Button onClick={onClose}>{words.app.cancel}</Button>
        <Button look="danger" autoFocus refused={isBusy ? words.app.loading : null} onClick={go}>
          {yes}
        </Button>
      </div>
    </Dialog>
  )
}
