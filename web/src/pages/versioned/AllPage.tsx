import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { label } from '../../api/queries.ts'
import { Page } from '../../Shell.tsx'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { type Column, found } from '../../ui/list.ts'
import { Empty, Rich, Trouble } from '../../ui/Say.tsx'
import { SearchBox } from '../../ui/SearchBox.tsx'
import { useChoices } from '../../useChoices.ts'
import { useWords } from '../../words/index.tsx'
import { descriptionIn, madeByIn, madeIn } from './columns.tsx'
import { KINDS, type Kind, type Versioned } from './kinds.ts'
import { TrainWith } from './TrainWith.tsx'

interface Props<Row> {
  kind: Kind
  all: UseQueryResult<Row[]>
  /** What is shown of each, behind its name and before its description. */
  columns: Column<Row>[]
  /** What each is found by besides its name and its description. */
  foundBy: (row: Row) => string
  /** How the first one is made in a terminal. */
  command: string
  /** The way to make one here. */
  add: ReactNode
}

/** All there are of a kind, searched and sorted. */
export function AllPage<Row extends Versioned>({ kind, all, foundBy, command, add, columns }: Props<Row>) {
  const { [kind]: w } = useWords()
  const { data, error, refetch } = all
  const [search, choose] = useChoices()
  const text = search.get('q') ?? ''
  const rows = found(data ?? [], text, row => `${row.name} ${row.description} ${foundBy(row)}`)
  return (
    <Page title={w.title} ends={add}>
      <p className="soft">
        <Rich text={w.intro} />
      </p>
      {error && <Trouble error={error} again={refetch} />}
      {data && data.length > 0 && <SearchBox label={w.search} text={text} change={q => choose({ q })} />}
      <section className="panel" aria-label={w.title}>
        {data?.length === 0 && (
          <Empty icon={kind} title={w.empty} hint={w.emptyHint}>
            <CodeBlock label={w.add} text={command} />
          </Empty>
        )}
        {data && data.length > 0 && rows.length === 0 && <Empty icon={kind} title={w.nothing} hint={w.nothingHint} />}
        {rows.length > 0 && <Rows kind={kind} rows={rows} columns={columns} />}
      </section>
    </Page>
  )
}

function Rows<Row extends Versioned>({ kind, rows, columns }: Pick<Props<Row>, 'kind' | 'columns'> & { rows: Row[] }) {
  const { app, [kind]: w } = useWords()
  const [search, choose] = useChoices()
  const named: Column<Row> = {
    key: 'name',
    title: w.name,
    cell: row => <Link href={KINDS[kind].pathOf(row.name)}>{row.name}</Link>,
    by: row => row.name,
  }
  return (
    <ListTable
      columns={[named, ...columns, descriptionIn(w), madeByIn(w), madeIn(w)]}
      rows={rows}
      keyOf={row => row.name}
      sorting={{
        sort: search.get('sort') ?? 'name',
        setSort: sort => choose({ sort: sort === 'name' ? null : sort }),
      }}
      ends={{
        title: app.more,
        of: ({ name, latest }) =>
          latest && <TrainWith kind={kind} version={label({ name, version: latest.version })} />,
      }}
    />
  )
}
