import { isAway } from './error.ts'

/** Between one try and the next, while the server does not answer. */
export const AGAIN_MS = 2_000

/** What did not arrive is asked for until it does; what was refused is not. */
export const whenAway = ({ state }: { state: { error: unknown } }): number | false =>
  isAway(state.error) ? AGAIN_MS : false
