import { Link } from 'wouter'
import { label } from '../../api/queries.ts'
import { Button } from '../../ui/Button.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import type { Column } from '../../ui/list.ts'
import { Empty } from '../../ui/Say.tsx'
import { Ago } from '../../ui/Time.tsx'
import { useWords } from '../../words/index.tsx'
import { JobLinks } from '../JobLinks.tsx'
import { KINDS, type Kind, type Version } from './kinds.ts'
import { TrainWith } from './TrainWith.tsx'

interface Props<Row extends Version> {
  kind: Kind
  of: { name: string; all: Row[] }
  /** The one that is looked at, and what is said of it. */
  shown: number | undefined
  shownAs?: string
  /** What is shown of each, behind its number. */
  columns: Column<Row>[]
  forget: (version: number) => void
}

/** Every version there is, the newest first. */
export function Versions<Row extends Version>({ kind, of: { name, all }, columns, forget, ...looked }: Props<Row>) {
  const { app, [kind]: w } = useWords()
  const { shown, shownAs } = looked
  const numbered = (it: Row) => (
    <>
      <Link href={KINDS[kind].pathOf(name, String(it.version))} aria-current={it.version === shown || undefined}>
        @{it.version}
      </Link>
      {it.version === shown && shownAs && <div className="soft small">{shownAs}</div>}
    </>
  )
  const made = (it: Row) => (
    <>
      <Ago at={it.created_at_ms} />
      <div className="soft small">{it.made_by}</div>
    </>
  )
  const ends = (it: Row) => (
    <Ends kind={kind} version={label({ name, version: it.version })} forget={() => forget(it.version)} />
  )
  return (
    <section className="panel" aria-label={w.versions}>
      <header>
        <h2>{w.versions}</h2>
      </header>
      {all.length === 0 && <Empty icon={kind} title={w.noVersions} hint={w.noVersionsHint} />}
      {all.length > 0 && (
        <ListTable
          columns={[
            { key: 'version', title: w.version, cell: numbered },
            ...columns,
            { key: 'jobs', title: w.jobs, cell: it => <JobLinks jobs={it.jobs} none={w.noJobs} /> },
            { key: 'made', title: w.made, cell: made },
          ]}
          rows={all}
          keyOf={it => String(it.version)}
          isSelected={it => it.version === shown}
          ends={{ title: app.more, of: ends }}
        />
      )}
    </section>
  )
}

/** What can be done with a version. */
function Ends({ kind, version, forget }: { kind: Kind; version: string; forget: () => void }) {
  const { [kind]: w } = useWords()
  return (
    <>
      <TrainWith kind={kind} version={version} />
      <Button tight look="danger" aria-label={w.forgetVersion(version)} onClick={forget}>
        {w.forget}
      </Button>
    </>
  )
}
