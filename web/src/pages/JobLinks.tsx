import { Link } from 'wouter'
import { label } from '../api/queries.ts'
import { paths } from '../paths.ts'

interface Props {
  jobs: { id: string; name: string; version: number }[]
  none: string
}

/** Jobs by their names, each of which leads to it. */
export function JobLinks({ jobs, none }: Props) {
  if (jobs.length === 0) return <span className="soft small">{none}</span>
  return (
    <ul className="job-links">
      {jobs.map(job => (
        <li key={job.id}>
          <Link href={paths.job(job.id)}>{label(job)}</Link>
        </li>
      ))}
    </ul>
  )
}
