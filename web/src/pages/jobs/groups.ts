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
  return [...byName.values()].map(newestFirst)
}

/** However the list is sorted, the newest version stands for its name. */
function newestFirst({ job, earlier }: Row): Row {
  const [newest = job, ...rest] = [job, ...earlier].sort((a, b) => b.version - a.version)
  return { job: newest, earlier: rest }
}
