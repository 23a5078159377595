import type { JobSummary } from '../../api/queries.ts'

export interface Row {
  job: JobSummary
  /** Earlier versions on this page that stand behind it. */
  earlier: JobSummary[]
}

/** The newest version of each name, where the others are put behind it; every job for itself otherwise. */
export function rows(jobs: JobSummary[], grouped: boolean): Row[] {
  if (!grouped) return jobs.map(job => ({ job, earlier: [] }))
  const byName = new Map<string, Row>()
  for (const job of jobs) {
    const key = JSON.stringify([job.owner, job.name])
    const row = byName.get(key)
    if (row) row.earlier.push(job)
    else byName.set(key, { job, earlier: [] })
  }
  return [...byName.values()]
}
