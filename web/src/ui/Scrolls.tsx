import type { ReactNode } from 'react'

/** What may be wider than the page. It can be reached by keyboard, to be scrolled. */
export function Scrolls({
  label,
  className = 'table-box',
  children,
}: {
  label: string
  className?: string
  children: ReactNode
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={className} tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}
