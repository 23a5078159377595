// Server-sent events over fetch: unlike the browser's own reader it can send the session's key.
import { ask } from './client.ts'
import { EventCutter, type ServerEvent } from './cutter.ts'
import { ApiError } from './error.ts'
import { whileShown } from './shown.ts'

const PAUSE_MS = 1000

interface Listener {
  onEvents: (events: ServerEvent[]) => void
  /** Whether the line is open. */
  onLine: (open: boolean) => void
  signal: AbortSignal
  /** Where to go on from, if something was read already. */
  last?: string
}

/**
 * Follows a path until the server sends `end`; a line that is cut is taken up where it broke. While nobody sees the page there is none:
 * whoever comes back to it is told the rest.
 */
export async function follow(path: string, listener: Listener): Promise<void> {
  const { signal, onLine } = listener
  let heard: Heard = { last: listener.last ?? '', isOver: false }
  while (!signal.aborted && !heard.isOver) {
    await whileShown(signal, async seen => {
      heard = await listen(path, { ...listener, signal: seen, last: heard.last })
      if (heard.isOver || seen.aborted) return
      onLine(false)
      await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
    })
  }
}

/** How far it was heard, and whether that was all. */
interface Heard {
  last: string
  isOver: boolean
}

/** Listens on one line for as long as it holds. */
async function listen(path: string, { onEvents, onLine, signal, last: from = '' }: Listener): Promise<Heard> {
  let last = from
  try {
    const response = await ask(path, { signal, headers: last === '' ? {} : { 'Last-Event-ID': last } })
    onLine(true)
    for await (const events of read(response)) {
      if (signal.aborted) break
      last = events.at(-1)?.id || last
      onEvents(events)
      if (events.some(event => event.kind === 'end')) return { last, isOver: true }
    }
  } catch (error) {
    // A refusal does not get better by asking again.
    if (!signal.aborted && error instanceof ApiError && error.status >= 400 && error.status < 500) throw error
  }
  return { last, isOver: false }
}

async function* read(response: Response): AsyncGenerator<ServerEvent[]> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const cutter = new EventCutter()
  for (;;) {
    const piece = await reader?.read()
    if (!piece || piece.done) return
    const events = cutter.feed(piece.value)
    if (events.length > 0) yield events
  }
}
