import { Link } from 'wouter'
import type { JobSummary } from '../api/queries.ts'
import { paths } from '../paths.ts'

/** A job's name as a link, with its version and what was said about it. */
export function JobName({ job }: { job: JobSummary }) {
  return (
    <div className="job-name">
      <Link href={paths.job(job.id)}>
        <strong>{job.name}</strong>
        <span className="soft">@{job.version}</span>
      </Link>
      {job.tags.map(tag => (
        <Link key={tag} className="tag" href={paths.jobsTagged(tag)}>
          {tag}
        </Link>
      ))}
      {job.description && (
        <div className="soft small clip" title={job.description}>
          {job.description}
        </div>
      )}
    </div>
  )
}
