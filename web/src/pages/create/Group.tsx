import type { ReactNode } from 'react'

/** Fields that belong together, with a name for them. */
export function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <fieldset className="panel">
      <legend>{title}</legend>
      <div className="body form-grid">{children}</div>
    </fieldset>
  )
}
