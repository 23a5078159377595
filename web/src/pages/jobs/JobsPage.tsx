import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import * as queries from '../../api/queries.ts'
import { paths } from '../../paths.ts'
import { Page } from '../../Shell.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { Empty, Trouble } from '../../ui/Say.tsx'
import { useWords } from '../../words/index.tsx'
import { FirstJob } from '../HomePage.tsx'
import { Batch } from './Batch.tsx'
import './jobs.css'
import { Filters } from './Filters.tsx'
import { rows } from './groups.ts'
import { JobRows } from './JobRows.tsx'
import { useDeeds } from './useDeeds.tsx'
import { useFilter } from './useFilter.ts'

export function JobsPage() {
  const words = useWords()
  const { filter, days, set, clear, isFiltered, grouped, setGrouped } = useFilter()
  const page = useQuery(queries.jobs(filter))
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set())
  const { ask, dialog } = useDeeds(() => setPicked(new Set()))
  const jobs = page.data?.jobs ?? []
  const selected = jobs.filter(job => picked.has(job.id))
  const isEmpty = page.data !== undefined && jobs.length === 0

  return (
    <Page
      title={words.jobs.title}
      ends={
        <Link className="button primary" href={paths.create}>
          <Icon name="create" />
          {words.nav.create}
        </Link>
      }
    >
      <Filters
        filter={filter}
        days={days}
        set={set}
        clear={isFiltered ? clear : null}
        grouped={grouped}
        setGrouped={setGrouped}
      />
      {page.error && <Trouble error={page.error} again={page.refetch} />}
      <section className="panel" aria-label={words.jobs.title} aria-busy={page.isPlaceholderData}>
        <Batch jobs={selected} ask={ask} />
        {isEmpty && (isFiltered || filter.cursor ? <Nothing /> : <FirstJob />)}
        {jobs.length > 0 && (
          <JobRows
            rows={rows(jobs, grouped)}
            picked={picked}
            pick={setPicked}
            ask={ask}
            sort={filter.sort ?? 'newest'}
            setSort={sort => set('sort', sort === 'newest' ? null : sort)}
          />
        )}
      </section>
      <nav className="row pager" aria-label={words.jobs.title}>
        <span className="soft small">
          {page.data && words.jobs.count(jobs.length, Boolean(page.data.next || filter.cursor))}
        </span>
        {filter.cursor && (
          <button type="button" className="button" onClick={() => set('cursor', null)}>
            <Icon name="left" />
            {words.jobs.firstPage}
          </button>
        )}
        {page.data?.next && (
          <button type="button" className="button" onClick={() => set('cursor', page.data.next ?? null)}>
            {words.jobs.nextPage}
            <Icon name="right" />
          </button>
        )}
      </nav>
      {dialog}
    </Page>
  )
}

function Nothing() {
  const words = useWords()
  return <Empty icon="jobs" title={words.jobs.nothing} hint={words.jobs.nothingHint} />
}
