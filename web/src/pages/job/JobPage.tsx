import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { ApiError, tellingOf } from '../../api/error.ts'
import * as queries from '../../api/queries.ts'
import { type JobDetail, type JobState, label } from '../../api/queries.ts'
import { type JobTab, paths } from '../../paths.ts'
import { Page } from '../../Shell.tsx'
import { Empty, Trouble } from '../../ui/Say.tsx'
import { State } from '../../ui/State.tsx'
import { useLanguage, useReason, useWords } from '../../words/index.tsx'
import { Describe } from '../Describe.tsx'
import { JobActions } from './JobActions.tsx'
import { LogsTab } from './LogsTab.tsx'
import { OverviewTab } from './OverviewTab.tsx'

const CurvesTab = lazy(() => import('./curves/CurvesTab.tsx'))
const FilesTab = lazy(() => import('./FilesTab.tsx'))
const ResourcesTab = lazy(() => import('./resources/ResourcesTab.tsx'))
const ServicesTab = lazy(() => import('./ServicesTab.tsx'))
const VersionsTab = lazy(() => import('./VersionsTab.tsx'))
const SpecTab = lazy(() => import('./SpecTab.tsx'))
const WhyTab = lazy(() => import('./WhyTab.tsx'))

/** What is wrong, or may be, stands out; the rest is only said. */
const REASON_LOOKS: Partial<Record<JobState, string>> = {
  failed: 'trouble',
  queued: 'note',
  unknown: 'note',
  stopping: 'note',
}

const TABS: JobTab[] = ['overview', 'logs', 'curves', 'resources', 'services', 'files', 'versions', 'spec', 'why']

export default function JobPage({ job: name, tab }: { job: string; tab: string | undefined }) {
  const { words, language } = useLanguage()
  const { data: job, error } = useQuery(queries.job(name))
  const here = TABS.find(it => it === tab) ?? 'overview'
  if (!job) {
    const isGone = error instanceof ApiError && error.status === 404
    return (
      <Page title={name}>
        {isGone && (
          <Empty icon="jobs" title={words.job.notThere} hint={tellingOf(error, language).message}>
            <Link className="button" href={paths.jobs}>
              {words.home.allJobs}
            </Link>
          </Empty>
        )}
        {error && !isGone && <Trouble error={error} />}
      </Page>
    )
  }
  return (
    <Page title={label(job)} heading={<Heading job={job} />} ends={<JobActions job={job} />}>
      <div className="soft description">
        {job.description || words.job.noDescription}
        <Describe job={job} />
      </div>
      {here !== 'why' && <Reason job={job} />}
      <Tabs name={name} here={here} />
      <Suspense fallback={null}>
        <Tab here={here} job={job} />
      </Suspense>
    </Page>
  )
}

/** On a narrow screen not all of them fit; the one that is open is always in view. */
function Tabs({ name, here }: { name: string; here: JobTab }) {
  const words = useWords()
  const nav = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is another link to bring into view
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [here])
  return (
    <nav ref={nav} className="tabs" aria-label={words.job.tabsLabel}>
      {TABS.map(it => (
        <Link key={it} href={paths.job(name, it)} aria-current={it === here ? 'page' : undefined}>
          {words.job.tabs[it]}
        </Link>
      ))}
    </nav>
  )
}

function Reason({ job }: { job: JobDetail }) {
  const reason = useReason(job)
  if (reason === '') return null
  return (
    <p className={REASON_LOOKS[job.state] ?? 'reason-line'} role="status">
      {reason}
    </p>
  )
}

function Heading({ job }: { job: JobDetail }) {
  return (
    <>
      <h1 className="job-title">
        {job.name}
        <span className="soft">@{job.version}</span>
      </h1>
      <State state={job.state} />
    </>
  )
}

function Tab({ here, job }: { here: JobTab; job: JobDetail }) {
  switch (here) {
    case 'overview':
      return <OverviewTab job={job} />
    case 'logs':
      return <LogsTab job={job} />
    case 'curves':
      return <CurvesTab job={job} />
    case 'resources':
      return <ResourcesTab job={job} />
    case 'files':
      return <FilesTab job={job} />
    case 'services':
      return <ServicesTab job={job} />
    case 'versions':
      return <VersionsTab job={job} />
    case 'spec':
      return <SpecTab job={job} />
    case 'why':
      return <WhyTab job={job} />
  }
}
