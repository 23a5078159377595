import { type Origin, planJob } from '../../api/actions.ts'
import type { Planned } from '../../api/queries.ts'
import { type Checked as CheckedText, useChecked } from './useChecked.ts'

export type { Problem } from './useChecked.ts'

export interface Checked extends Omit<CheckedText<Planned>, 'made'> {
  plan: Planned | null
}

/** Has the server compile the file: the same compiler that will judge the submission. */
export function usePlan(text: string, origin: Origin): Checked {
  const { made, ...rest } = useChecked(text, JSON.stringify(origin), () => planJob(text, origin))
  return { ...rest, plan: made }
}
