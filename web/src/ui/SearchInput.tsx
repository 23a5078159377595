interface Props {
  label: string
  text: string
  change: (text: string) => void
}

/** Where one types what something is to be searched for. */
export function SearchInput({ label, text, change }: Props) {
  return (
    <input
      className="input"
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={event => change(event.target.value)}
    />
  )
}
