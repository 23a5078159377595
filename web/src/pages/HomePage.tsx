import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { JobState, NodeView } from '../api/queries.ts'
import * as queries from '../api/queries.ts'
import { bytes, cpus } from '../format.ts'
import { paths } from '../paths.ts'
import { Page } from '../Shell.tsx'
import { Gauge } from '../ui/Gauge.tsx'
import { Icon } from '../ui/Icon.tsx'
import { Empty, Trouble } from '../ui/Say.tsx'
import { State } from '../ui/State.tsx'
import { Ago, Span } from '../ui/Time.tsx'
import { usageNow } from '../usage/queries.ts'
import { useWords } from '../words/index.tsx'
import { JobName } from './JobTable.tsx'

const SHOWN: JobState[] = ['running', 'queued', 'starting', 'succeeded', 'failed', 'stopped']
/** More than this is said to be more; nobody counts them by eye. */
const COUNTED_MAX = 100
const RECENT = 6
const FRAMEWORKS = ['TensorFlow', 'Keras', 'PyTorch', 'JAX', 'Python']

export function HomePage() {
  const words = useWords()
  return (
    <Page
      title={words.home.title}
      ends={
        <Link className="button primary" href={paths.create}>
          <Icon name="create" />
          {words.nav.create}
        </Link>
      }
    >
      <ByState />
      <div className="home-columns">
        <Recent />
        <div className="stack">
          <Cluster />
          <Tiles />
        </div>
      </div>
    </Page>
  )
}

function ByState() {
  const words = useWords()
  const { data: about } = useQuery(queries.about())
  const owner = about?.user ?? ''
  const counts = useQueries({
    queries: SHOWN.map(state => ({
      ...queries.jobs({ state, owner, limit: COUNTED_MAX }),
      enabled: about !== undefined,
    })),
  })
  return (
    <section aria-label={words.home.byState}>
      <ul className="counts">
        {SHOWN.map((state, index) => {
          const page = counts[index]?.data
          return (
            <li key={state}>
              <Link className="panel" href={paths.jobsIn(state, owner)}>
                <span className="figure">
                  {page === undefined ? '–' : page.next ? words.home.atLeast(COUNTED_MAX) : page.jobs.length}
                </span>
                <State state={state} />
              </Link>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

function Recent() {
  const words = useWords()
  const recent = useQuery(queries.jobs({ limit: RECENT }))
  return (
    <section className="panel">
      <header>
        <h2>{words.home.recent}</h2>
        <Link href={paths.jobs}>{words.home.allJobs}</Link>
      </header>
      {recent.error && <Trouble error={recent.error} />}
      {recent.data?.jobs.length === 0 ? (
        <FirstJob />
      ) : (
        <ul className="recent">
          {recent.data?.jobs.map(job => (
            <li key={job.id}>
              <JobName job={job} />
              <span className="small soft">
                <Ago at={job.created_at_ms} />
              </span>
              <span className="small ran">
                <Span from={job.started_at_ms} to={job.ended_at_ms} />
              </span>
              <State state={job.state} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

export function FirstJob() {
  const words = useWords()
  return (
    <Empty icon="jobs" title={words.jobs.empty} hint={words.jobs.emptyHint}>
      <pre>trainmaster run -- python3 -c 'print("hello")'</pre>
      <Link className="button primary" href={paths.create}>
        {words.nav.create}
      </Link>
    </Empty>
  )
}

const sum = (nodes: NodeView[], of: (node: NodeView) => number) => nodes.reduce((all, node) => all + of(node), 0)

function Cluster() {
  const words = useWords()
  const nodes = useQuery(queries.nodes())
  const all = nodes.data ?? []
  const kinds = [...new Set(all.flatMap(node => Object.keys(node.capacity.accelerators ?? {})))]
  const gauge = (label: string, total: number, free: number, show: (n: number) => string) => (
    <Gauge
      key={label}
      label={label}
      used={total - free}
      total={total}
      text={words.home.usedOf(show(total - free), show(total))}
    />
  )
  return (
    <section className="panel">
      <header>
        <h2>{words.home.cluster}</h2>
        <Link href={paths.nodes}>{words.home.nodesUp(all.filter(node => node.open).length, all.length)}</Link>
      </header>
      <div className="body stack">
        {nodes.error && <Trouble error={nodes.error} />}
        {gauge(
          words.home.cpus,
          sum(all, it => it.capacity.cpus_milli),
          sum(all, it => it.free.cpus_milli),
          cpus,
        )}
        {gauge(
          words.home.memory,
          sum(all, it => it.capacity.memory_bytes),
          sum(all, it => it.free.memory_bytes),
          bytes,
        )}
        {kinds.map(kind =>
          gauge(
            kind,
            sum(all, it => it.capacity.accelerators?.[kind] ?? 0),
            sum(all, it => it.free.accelerators?.[kind] ?? 0),
            String,
          ),
        )}
        <InUse />
        {kinds.length === 0 && <span className="soft small">{words.home.noAccelerators}</span>}
      </div>
    </section>
  )
}

/** What tasks really use of what is reserved for them. */
function InUse() {
  const words = useWords()
  const { data } = useQuery(usageNow())
  if (!data) return null
  const used = (of: 'cpu_cores' | 'memory_bytes') => data.nodes.reduce((all, node) => all + (node.now[of] ?? 0), 0)
  return (
    <div className="gauge small soft">
      <span className="ends">
        <span>{words.usage.inUse}</span>
        <span className="nowrap">
          {words.usage.cores(used('cpu_cores').toFixed(1))} · {bytes(used('memory_bytes'))}
        </span>
      </span>
    </div>
  )
}

function Tiles() {
  const words = useWords()
  return (
    <section className="panel">
      <header>
        <h2>{words.home.start}</h2>
      </header>
      <div className="body tiles">
        {FRAMEWORKS.map(name => (
          <Link key={name} className="tile" href={paths.createWith(name.toLowerCase())}>
            {name}
          </Link>
        ))}
        <Link className="tile" href={paths.createWith('image')}>
          {words.home.ownImage}
        </Link>
        <Link className="tile" href={`${paths.create}?door=file`}>
          {words.home.ownFile}
        </Link>
      </div>
    </section>
  )
}
