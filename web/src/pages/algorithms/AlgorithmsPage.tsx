import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { AlgorithmView } from '../../api/algorithms.ts'
import * as algorithms from '../../api/algorithms.ts'
import { paths } from '../../paths.ts'
import { Page } from '../../Shell.tsx'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { type Column, found } from '../../ui/list.ts'
import { Empty, Rich, Trouble } from '../../ui/Say.tsx'
import { SearchBox } from '../../ui/SearchBox.tsx'
import { Ago } from '../../ui/Time.tsx'
import { useChoices } from '../../useChoices.ts'
import type { Words } from '../../words/en.ts'
import { useWords } from '../../words/index.tsx'
import { around } from './told.ts'
import { WriteAlgorithm } from './WriteAlgorithm.tsx'

export default function AlgorithmsPage() {
  const [search] = useChoices()
  return search.get('write') ? <WriteAlgorithm /> : <All />
}

function All() {
  const words = useWords()
  const { algorithms: w } = words
  const { data, error, refetch } = useQuery(algorithms.algorithms())
  const [search, choose] = useChoices()
  const text = search.get('q') ?? ''
  const rows = found(data ?? [], text, row => `${row.name} ${row.description} ${frameworkOf(row)}`)
  return (
    <Page
      title={w.title}
      ends={
        <Link className="button primary" href={paths.writeAlgorithm()}>
          {w.add}
        </Link>
      }
    >
      <p className="soft">
        <Rich text={w.intro} />
      </p>
      {error && <Trouble error={error} again={refetch} />}
      {data && data.length > 0 && <SearchBox label={w.search} text={text} change={q => choose({ q })} />}
      <section className="panel" aria-label={w.title}>
        {data?.length === 0 && (
          <Empty icon="algorithms" title={w.empty} hint={w.emptyHint}>
            <CodeBlock label={w.add} text="trainmaster algorithms add algorithm.yaml" />
          </Empty>
        )}
        {data && data.length > 0 && rows.length === 0 && (
          <Empty icon="algorithms" title={w.nothing} hint={w.nothingHint} />
        )}
        {rows.length > 0 && (
          <ListTable
            columns={columnsIn(words)}
            rows={rows}
            keyOf={row => row.name}
            sort={search.get('sort') ?? 'name'}
            setSort={sort => choose({ sort: sort === 'name' ? null : sort })}
            ends={{ title: words.app.more, of: row => <Train algorithm={row} /> }}
          />
        )}
      </section>
    </Page>
  )
}

function Train({ algorithm: { latest } }: { algorithm: AlgorithmView }) {
  const { app, algorithms: w } = useWords()
  if (!latest) return null
  const name = algorithms.versionName(latest)
  return (
    <Link className="button tight" href={paths.createFromAlgorithm(name)} aria-label={app.about(w.train, name)}>
      {w.train}
    </Link>
  )
}

const frameworkOf = (row: AlgorithmView): string => (row.latest ? around(row.latest.document) : '')

function columnsIn({ algorithms: w }: Words): Column<AlgorithmView>[] {
  return [
    {
      key: 'name',
      title: w.name,
      cell: row => <Link href={paths.algorithm(row.name)}>{row.name}</Link>,
      by: row => row.name,
    },
    { key: 'framework', title: w.framework, cell: row => frameworkOf(row) || w.noFramework, by: frameworkOf },
    { key: 'newest', title: w.newest, cell: row => (row.latest ? `@${row.latest.version}` : '–') },
    { key: 'description', title: w.description, isLong: true, cell: row => row.description },
    { key: 'by', title: w.madeBy, cell: row => row.latest?.made_by, by: row => row.latest?.made_by ?? '' },
    {
      key: 'made',
      title: w.made,
      cell: row => <Ago at={row.latest?.created_at_ms ?? row.created_at_ms} />,
      by: row => row.latest?.created_at_ms ?? row.created_at_ms,
    },
  ]
}
