import type { JobDetail, RunView } from '../../api/queries.ts'

interface Roles {
  roles?: Record<string, { tasks?: number }>
}

/** The tasks of a job by the names people call them, whether they were placed or not. */
export function tasksOf(job: JobDetail): string[] {
  const roles = Object.entries((job.spec as Roles).roles ?? {})
  const planned = roles.flatMap(([role, { tasks = 1 }]) =>
    Array.from({ length: tasks }, (_, index) => `${role}-${index}`),
  )
  return planned.length > 0 ? planned : [...new Set(job.runs.map(run => run.task))]
}

/** The newest run of every task, in the order of their names' numbers. */
export function newestRuns(job: JobDetail): RunView[] {
  const newest = new Map<string, RunView>()
  for (const run of job.runs) {
    const known = newest.get(run.task)
    if (!known || known.attempt < run.attempt) newest.set(run.task, run)
  }
  return [...newest.values()].sort((a, b) => a.task.localeCompare(b.task, 'en', { numeric: true }))
}
