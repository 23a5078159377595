import { type ComponentProps, type ReactNode, useId } from 'react'
import { Icon } from './Icon.tsx'
import { Rich } from './Say.tsx'

interface Around {
  label: string
  help?: ReactNode
  /** What is wrong with it, in words. */
  wrong?: string | null | undefined
}

/** What is wrong with what stands above it. */
export function Wrong({ id, text }: { id?: string; text: string }) {
  return (
    <span className="wrong" id={id} role="alert">
      <Icon name="warn" />
      <span>
        <Rich text={text} />
      </span>
    </span>
  )
}

/** A label, a control and what is to be said about it, tied together for whoever cannot see them side by side. */
function Around({ label, help, wrong, id, children }: Around & { id: string; children: ReactNode }) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children}
      {wrong && <Wrong id={`${id}-wrong`} text={wrong} />}
      {help && (
        <span className="help" id={`${id}-help`}>
          {help}
        </span>
      )}
    </div>
  )
}

const describedBy = (id: string, { help, wrong }: Around) =>
  [wrong && `${id}-wrong`, help && `${id}-help`].filter(Boolean).join(' ') || undefined

const marks = (id: string, around: Around) => ({
  id,
  'aria-describedby': describedBy(id, around),
  'aria-invalid': around.wrong ? true : undefined,
})

export function TextField({ label, help, wrong, ...rest }: Around & ComponentProps<'input'>) {
  const id = useId()
  return (
    <Around id={id} label={label} help={help} wrong={wrong}>
      <input className="input" autoComplete="off" spellCheck={false} {...rest} {...marks(id, { label, help, wrong })} />
    </Around>
  )
}

export function TextArea({ label, help, wrong, ...rest }: Around & ComponentProps<'textarea'>) {
  const id = useId()
  return (
    <Around id={id} label={label} help={help} wrong={wrong}>
      <textarea className="input" spellCheck={false} {...rest} {...marks(id, { label, help, wrong })} />
    </Around>
  )
}

export function SelectField({ label, help, wrong, ...rest }: Around & ComponentProps<'select'>) {
  const id = useId()
  return (
    <Around id={id} label={label} help={help} wrong={wrong}>
      <select className="select" {...rest} {...marks(id, { label, help, wrong })} />
    </Around>
  )
}

export function Check({ label, help, ...rest }: { label: string; help?: string } & ComponentProps<'input'>) {
  const id = useId()
  return (
    <div className="field">
      <span className="check">
        <input type="checkbox" id={id} aria-describedby={help ? `${id}-help` : undefined} {...rest} />
        <label htmlFor={id}>{label}</label>
      </span>
      {help && (
        <span className="help" id={`${id}-help`}>
          {help}
        </span>
      )}
    </div>
  )
}
