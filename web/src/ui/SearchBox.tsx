/** Where one types what a list is to be searched for. */
export function SearchBox({ label, text, change }: { label: string; text: string; change: (text: string) => void }) {
  return (
    <search className="filters">
      <input
        className="input"
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={event => change(event.target.value)}
      />
    </search>
  )
}
