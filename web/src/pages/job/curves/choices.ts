import type { Range } from '../../../charts/line.ts'
import type { XKind } from '../../../curves/pieces.ts'

const KINDS: XKind[] = ['step', 'time', 'span']
export const SMOOTHING_MAX = 0.99
/** More lines than this in one chart tell nobody anything. */
export const VERSIONS_MAX = 8

export interface CurveChoices {
  x: XKind
  smoothing: number
  log: boolean
  task: string | undefined
  group: string | undefined
  /** Other versions of the job that are drawn too. */
  versions: number[]
  /** The one chart that is shown large. */
  metric: string | null
  find: string
  range: Range | null
}

const whole = (text: string | null) => (text !== null && /^-?\d+$/.test(text) ? Number(text) : null)

/** Whatever stands in an address, what comes out can be drawn. */
export function read(search: URLSearchParams): CurveChoices {
  const [from, to] = [whole(search.get('from')), whole(search.get('to'))]
  const weight = Number(search.get('smooth'))
  const versions = (search.get('with') ?? '').split(',').map(whole)
  return {
    x: KINDS.find(it => it === search.get('x')) ?? 'step',
    smoothing: weight > 0 ? Math.min(SMOOTHING_MAX, weight) : 0,
    log: search.get('log') === '1',
    task: search.get('task') || undefined,
    // Printed numbers are in the group of no name.
    group: search.get('group') === '-' ? '' : search.get('group') || undefined,
    versions: [...new Set(versions.filter(it => it !== null && it > 0))].slice(0, VERSIONS_MAX) as number[],
    metric: search.get('metric'),
    find: search.get('find') ?? '',
    range: from !== null && to !== null && from < to ? [from, to] : null,
  }
}
