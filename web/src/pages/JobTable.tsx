import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { JobSummary } from '../api/queries.ts'
import { paths } from '../paths.ts'

/** A job's name as a link, with its version, what was said about it, and what may be done to that. */
export function JobName({ job, children }: { job: JobSummary; children?: ReactNode }) {
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
      {children}
      {job.description && (
        <div className="soft small clip" title={job.description}>
          {job.description}
        </div>
      )}
    </div>
  )
}
