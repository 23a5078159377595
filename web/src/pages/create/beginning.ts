// What a new job begins with: nothing, a framework, or another job.
import { stringify } from 'yaml'
import { type JobDetail, label } from '../../api/queries.ts'
import { type Draft, draftOf, newDraft, setField } from './draft.ts'
import { setFramework, setName } from './simple.ts'

/** Again as its next version, as a job with a name of its own, or going on with what it put out. */
const WAYS = ['again', 'clone', 'continue'] as const
export type Way = (typeof WAYS)[number]

export interface Beginning {
  from: string | undefined
  way: Way
  framework: string
}

/** It stands in the address. */
export const beginningOf = (search: URLSearchParams): Beginning => ({
  from: search.get('from') ?? undefined,
  way: WAYS.find(it => it === search.get('as')) ?? 'again',
  framework: search.get('framework') ?? '',
})

/** Two that began differently are two drafts, and one is not written over the other. */
export const keyOf = ({ from, way, framework }: Beginning): string =>
  from ? `${way} ${from}` : framework && `with ${framework}`

/** Nothing until the other job is known. */
export function begin({ from, way, framework }: Beginning, job: JobDetail | undefined): Draft | null {
  if (!from) return framework ? setFramework(newDraft(), framework) : newDraft()
  if (!job) return null
  const same = draftOf(stringify(job.spec, { lineWidth: 0 }))
  if (way === 'clone') return setName(same, '')
  return way === 'continue' ? setField(same, ['from'], label(job)) : same
}
