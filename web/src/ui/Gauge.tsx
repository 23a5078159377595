import { useId } from 'react'

export function Gauge({ label, text, used, total }: { label: string; text: string; used: number; total: number }) {
  const id = useId()
  return (
    <div className="gauge">
      <span className="ends">
        <span id={id}>{label}</span>
        <span className="soft nowrap">{text}</span>
      </span>
      <meter aria-labelledby={id} min={0} max={total} value={used} title={text} />
    </div>
  )
}
