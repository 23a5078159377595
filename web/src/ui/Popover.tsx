import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react'

/** A button that opens a list below it. Escape and a click beside it close it. */
export function Popover({ label, children }: { label: string; children: ReactNode }) {
  const details = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const closeOutside = (event: PointerEvent) => {
      const element = details.current
      if (element?.open && !element.contains(event.target as Node)) element.open = false
    }
    document.addEventListener('pointerdown', closeOutside)
    return () => document.removeEventListener('pointerdown', closeOutside)
  }, [])
  const onKeyDown = (event: KeyboardEvent) => {
    const element = details.current
    if (event.key !== 'Escape' || !element?.open) return
    element.open = false
    element.querySelector('summary')?.focus()
  }
  return (
    <details className="popover" ref={details} onKeyDown={onKeyDown}>
      <summary className="button">{label}</summary>
      <div className="panel">{children}</div>
    </details>
  )
}
