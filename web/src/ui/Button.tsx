import type { ButtonHTMLAttributes, ReactNode } from 'react'

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> {
  look?: 'primary' | 'danger' | 'plain' | 'normal'
  tight?: boolean
  /** Why it cannot be pressed now. It stays reachable by keyboard, so that the reason can be read. */
  refused?: string | null
  children: ReactNode
}

export function Button({ look = 'normal', tight, refused, onClick, title, className, ...rest }: Props) {
  const off = refused != null
  const classes = ['button', look, tight && 'tight', className].filter(Boolean).join(' ')
  return (
    <button
      type="button"
      {...rest}
      className={classes}
      aria-disabled={off || undefined}
      title={refused ?? title}
      onClick={off ? event => event.preventDefault() : onClick}
    />
  )
}
