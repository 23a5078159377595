import { useState } from 'react'
import { TextField } from '../../ui/Field.tsx'

interface Props {
  label: string
  help?: string
  least: number
  step?: number
  value: string
  wrong?: string | null | undefined
  /** Nothing once it is empty: the default then holds, and is shown when the field is left. */
  change: (value: number | null) => void
}

export function NumberField({ least, step = 1, value, change, ...around }: Props) {
  const [typed, setTyped] = useState<string | null>(null)
  return (
    <TextField
      {...around}
      type="number"
      min={least}
      step={step}
      value={typed ?? value}
      onChange={event => {
        const number = event.target.valueAsNumber
        setTyped(event.target.value)
        change(Number.isFinite(number) ? number : null)
      }}
      onBlur={() => setTyped(null)}
    />
  )
}
