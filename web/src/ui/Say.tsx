import type { ReactNode } from 'react'
import { isAway, tellingOf } from '../api/error.ts'
import { useLanguage } from '../words/index.tsx'
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
  const { words, language } = useLanguage()
  const { message, hint } = isAway(error)
    ? { message: words.app.away, hint: words.app.awayHint }
    : tellingOf(error, language)
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
