// Server-sent events over fetch: unlike the browser's own reader it can send the session's key.
import { ask } from './client.ts'
import { EventCutter, type ServerEvent } from './cutter.ts'
import { ApiError } from './error.ts'

const PAUSE_MS = 1000

interface Listener {
  onEvents: (events: ServerEvent[]) => void
  /** Whether the line is open. */
  onLine: (open: boolean) => void
  signal: AbortSignal
  /** Where to go on from, if something was read already. */
  last?: string
}

/** Follows a path until the server sends `end`; a line that is cut is taken up where it broke. */
export async function follow(path: string, { onEvents, onLine, signal, last: from = '' }: Listener): Promise<void> {
  let last = from
  while (!signal.aborted) {
    try {
      const response = await ask(path, { signal, headers: last === '' ? {} : { 'Last-Event-ID': last } })
      onLine(true)
      for await (const events of read(response)) {
        last = events.at(-1)?.id || last
        onEvents(events)
        if (events.some(event => event.kind === 'end')) return
      }
    } catch (error) {
      if (signal.aborted) return
      // A refusal does not get better by asking again.
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) throw error
    }
    onLine(false)
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
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
