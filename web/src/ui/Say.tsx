import type { ReactNode } from 'react'
import { ApiError } from '../api/error.ts'
import { useWords } from '../words/index.tsx'
import { Button } from './Button.tsx'
import { Icon, type IconName } from './Icon.tsx'

/** Words with `commands` in them. */
export function Rich({ text }: { text: string }) {
  const parts = text.split('`')
  return parts.map((part, index) =>
    index % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never change places
      <code key={index} className="inline">
        {part}
      </code>
    ) : (
      part
    ),
  )
}

export function Empty({
  icon,
  title,
  hint,
  children,
}: {
  icon: IconName
  title: string
  hint?: string
  children?: ReactNode
}) {
  return (
    <div className="empty">
      <Icon name={icon} size={36} />
      <h2>{title}</h2>
      {hint && (
        <p className="soft">
          <Rich text={hint} />
        </p>
      )}
      {children}
    </div>
  )
}

/** What went wrong, and what to do about it. */
export function Trouble({ error, again }: { error: unknown; again?: () => void }) {
  const words = useWords()
  const isAway = error instanceof ApiError && error.status === 0
  const message = isAway ? words.app.away : error instanceof Error ? error.message : String(error)
  const hint = isAway ? words.app.awayHint : error instanceof ApiError ? error.body.hint : null
  return (
    <div className="trouble" role="alert">
      <strong>
        <Rich text={message} />
      </strong>
      {hint && (
        <span>
          {words.app.hint} <Rich text={hint} />
        </span>
      )}
      {again && (
        <div>
          <Button tight onClick={again}>
            {words.app.reload}
          </Button>
        </div>
      )}
    </div>
  )
}
