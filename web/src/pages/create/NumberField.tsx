import { type ReactNode, useState } from 'react'
import { TextField } from '../../ui/Field.tsx'

interface Props {
  label: string
  help?: string
  least?: number | undefined
  most?: number | undefined
  step?: number | 'any'
  value: string
  wrong?: string | null | undefined
  beside?: ReactNode
  /** Why it cannot be changed. */
  refused?: string | null
  /** Nothing once it is empty: the default then holds, and is shown when the field is left. */
  change: (value: number | null) => void
}

export function NumberField({ least, most, step = 1, value, refused, change, ...around }: Props) {
  const [typed, setTyped] = useState<string | null>(null)
  return (
    <TextField
      {...around}
      type="number"
      min={least}
      max={most}
      step={step}
      value={typed ?? value}
      {...(refused && { readOnly: true, title: refused })}
      onChange={event => {
        const number = event.target.valueAsNumber
        setTyped(event.target.value)
        change(Number.isFinite(number) ? number : null)
      }}
      onBlur={() => setTyped(null)}
    />
  )
}
