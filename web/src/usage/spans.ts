// Which stretch of time is looked at, and how finely.
import type { Range } from '../charts/line.ts'

const PIECES_MAX = 300

export const WINDOWS = { quarter: 15 * 60_000, hour: 60 * 60_000, all: null }
export type Window = keyof typeof WINDOWS

/** What is looked at: a part that was chosen, or what ends with the job or now. */
export interface Span {
  window: Window
  range: Range | null
  startMs: number
  endMs: number | null
}

export function boundsOf({ window, range, startMs, endMs }: Span, now = Date.now()): { from: number; to: number } {
  if (range) return { from: Math.floor(range[0]), to: Math.ceil(range[1]) }
  const to = Math.max(startMs, endMs ?? now)
  const length = WINDOWS[window]
  return { from: length === null ? startMs : Math.max(startMs, to - length), to }
}

export const piecesOf = ({ from, to }: { from: number; to: number }, pieceMs: number) =>
  Math.max(2, Math.min(PIECES_MAX, Math.floor((to - from) / pieceMs)))
