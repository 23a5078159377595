import { type ComponentProps, useState } from 'react'
import { TextField } from '../../ui/Field.tsx'

type Props = Omit<ComponentProps<typeof TextField>, 'value' | 'onChange'> & {
  value: string
  change: (text: string) => void
}

/** A text with a default, which comes back when an empty field is left, and not while it is being typed into. */
export function TypedField({ value, change, ...around }: Props) {
  const [typed, setTyped] = useState<string | null>(null)
  return (
    <TextField
      {...around}
      value={typed ?? value}
      onChange={event => {
        setTyped(event.target.value)
        change(event.target.value)
      }}
      onBlur={() => setTyped(null)}
    />
  )
}
