import { useSyncExternalStore } from 'react'
import { ago, duration, exactTime, took } from '../format.ts'
import { useWords } from '../words/index.tsx'

// One clock for all, so that a thousand rows cost one timer.
const listeners = new Set<() => void>()
let now = Date.now()
setInterval(() => {
  now = Date.now()
  for (const listener of listeners) listener()
}, 1000)

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const useNow = () => useSyncExternalStore(subscribe, () => now)

/** How long ago, in the reader's zone; the exact time shows on hover and is there for machines. */
export function Ago({ at }: { at: number }) {
  const { locale } = useWords()
  const text = ago(at, Math.max(useNow(), at), locale)
  return (
    <time className="nowrap" dateTime={new Date(at).toISOString()} title={exactTime(at, locale)}>
      {text}
    </time>
  )
}

/** From one time to another, or to now while it goes on. */
export function Span({ from, to }: { from: number | null | undefined; to: number | null | undefined }) {
  const until = useNow()
  const { units } = useWords()
  if (from == null) return <span className="soft">–</span>
  return (
    <span className="nowrap">
      {to == null ? duration(Math.max(until, from) - from, units) : took(to - from, units)}
    </span>
  )
}

/** What is left of a limit that counts from the start. */
export function Left({ from, limit }: { from: number | null | undefined; limit: number }) {
  const until = useNow()
  const { units } = useWords()
  return <span className="nowrap">{duration(from == null ? limit : limit - (until - from), units)}</span>
}
