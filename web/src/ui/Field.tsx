import { type ComponentProps, type ReactNode, useId } from 'react'
import { Icon } from './Icon.tsx'
import { Rich } from './Say.tsx'

interface Around {
  label: string
  help?: ReactNode
  /** What is wrong with it, in words. */
  wrong?: string | null | undefined
}

interface Beside {
  beside?: ReactNode
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

/** Buttons may stand beside it that fill it in. */
export function TextField({ label, help, wrong, beside, ...rest }: Around & Beside & ComponentProps<'input'>) {
  const id = useId()
  return (
    <Around id={id} label={label} help={help} wrong={wrong}>
      <With beside={beside}>
        <input
          className="input"
          autoComplete="off"
          spellCheck={false}
          {...rest}
          {...marks(id, { label, help, wrong })}
        />
      </With>
    </Around>
  )
}

function With({ beside, children }: Beside & { children: ReactNode }) {
  if (!beside) return children
  return (
    <div className="beside">
      {children}
      {beside}
    </div>
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

export function SelectField({ label, help, wrong, beside, ...rest }: Around & Beside & ComponentProps<'select'>) {
  const id = useId()
  return (
    <Around id={id} label={label} help={help} wrong={wrong}>
      <With beside={beside}>
        <select className="select" {...rest} {...marks(id, { label, help, wrong })} />
      </With>
    </Around>
  )
}

export function Check({ label, help, wrong, beside, ...rest }: Around & Beside & ComponentProps<'input'>) {
  const id = useId()
  return (
    <div className="field">
      <With beside={beside}>
        <span className="check">
          <input type="checkbox" {...rest} {...marks(id, { label, help, wrong })} />
          <label htmlFor={id}>{label}</label>
        </span>
      </With>
      {wrong && <Wrong id={`${id}-wrong`} text={wrong} />}
      {help && (
        <span className="help" id={`${id}-help`}>
          {help}
        </span>
      )}
    </div>
  )
}
