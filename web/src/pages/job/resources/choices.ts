import type { Range } from '../../../charts/line.ts'
import type { Kind } from '../../../usage/panels.ts'
import { WINDOWS, type Window } from '../../../usage/spans.ts'

const KINDS: Kind[] = ['job', 'role', 'task', 'node']

export interface UsageChoices {
  by: Kind
  window: Window
  task: string | undefined
  range: Range | null
}

/** Whatever stands in an address, what comes out can be drawn. */
export function readUsage(search: URLSearchParams): UsageChoices {
  const [from, to] = [Number(search.get('from')), Number(search.get('to'))]
  const by = KINDS.find(it => it === search.get('by')) ?? 'job'
  const windows = Object.keys(WINDOWS) as Window[]
  return {
    by,
    window: windows.find(it => it === search.get('over')) ?? 'all',
    task: by === 'task' ? search.get('task') || undefined : undefined,
    range: from > 0 && to > from ? [from, to] : null,
  }
}
