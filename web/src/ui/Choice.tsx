import type { ReactNode } from 'react'

interface Props {
  label: string
  value: string
  onChange: (value: string) => void
  children: ReactNode
}

/** A select that stands in a row with others and says on hover what it chooses. */
export function Choice({ label, value, onChange, children }: Props) {
  return (
    <select
      className="select"
      aria-label={label}
      title={label}
      value={value}
      onChange={event => onChange(event.target.value)}
    >
      {children}
    </select>
  )
}
