import { stringify } from 'yaml'
import { type JobDetail, label } from '../../api/queries.ts'
import { anew, type Beginning } from './beginning.ts'
import { type Draft, draftOf, setField } from './draft.ts'
import { setName } from './simple.ts'

/** Nothing until the other job is known. */
export function begin(beginning: Beginning, job: JobDetail | undefined): Draft | null {
  const { from, way } = beginning
  if (!from) return anew(beginning)
  if (!job) return null
  const same = draftOf(stringify(job.spec, { lineWidth: 0 }))
  if (way === 'clone') return setName(same, '')
  return way === 'continue' ? setField(same, ['from'], label(job)) : same
}
