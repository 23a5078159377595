import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { DatasetView } from '../../api/datasets.ts'
import * as sets from '../../api/datasets.ts'
import { bytes } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Page } from '../../Shell.tsx'
import { Button } from '../../ui/Button.tsx'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { ListTable } from '../../ui/ListTable.tsx'
import { type Column, found } from '../../ui/list.ts'
import { Empty, Rich, Trouble } from '../../ui/Say.tsx'
import { SearchBox } from '../../ui/SearchBox.tsx'
import { Ago } from '../../ui/Time.tsx'
import { useChoices } from '../../useChoices.ts'
import type { Words } from '../../words/en.ts'
import { useWords } from '../../words/index.tsx'
import { AddDataset } from './AddDataset.tsx'

export default function DatasetsPage() {
  const words = useWords()
  const { datasets: w } = words
  const { data, error, refetch } = useQuery(sets.datasets())
  const [search, choose] = useChoices()
  const [isAdding, setAdding] = useState(false)
  const text = search.get('q') ?? ''
  const rows = found(data ?? [], text, row => `${row.name} ${row.description} ${row.latest?.at ?? ''}`)
  return (
    <Page
      title={w.title}
      ends={
        <Button look="primary" onClick={() => setAdding(true)}>
          {w.add}
        </Button>
      }
    >
      <p className="soft">
        <Rich text={w.intro} />
      </p>
      {error && <Trouble error={error} again={refetch} />}
      {data && data.length > 0 && <SearchBox label={w.search} text={text} change={q => choose({ q })} />}
      <section className="panel" aria-label={w.title}>
        {data?.length === 0 && <NoDatasets />}
        {data && data.length > 0 && rows.length === 0 && (
          <Empty icon="datasets" title={w.nothing} hint={w.nothingHint} />
        )}
        {rows.length > 0 && (
          <ListTable
            columns={columnsIn(words)}
            rows={rows}
            keyOf={row => row.name}
            sort={search.get('sort') ?? 'name'}
            setSort={sort => choose({ sort: sort === 'name' ? null : sort })}
            ends={{ title: words.app.more, of: row => <Train dataset={row} /> }}
          />
        )}
      </section>
      {isAdding && <AddDataset onClose={() => setAdding(false)} />}
    </Page>
  )
}

function NoDatasets() {
  const { datasets: w } = useWords()
  return (
    <Empty icon="datasets" title={w.empty} hint={w.emptyHint}>
      <CodeBlock label={w.add} text="trainmaster datasets add mnist data:mnist/train" />
    </Empty>
  )
}

function Train({ dataset: { latest } }: { dataset: DatasetView }) {
  const { app, datasets: w } = useWords()
  if (!latest) return null
  const name = sets.versionName(latest)
  return (
    <Link className="button tight" href={paths.createReading(name)} aria-label={app.about(w.train, name)}>
      {w.train}
    </Link>
  )
}

function columnsIn({ datasets: w, locale }: Words): Column<DatasetView>[] {
  return [
    {
      key: 'name',
      title: w.name,
      cell: row => <Link href={paths.dataset(row.name)}>{row.name}</Link>,
      by: row => row.name,
    },
    { key: 'newest', title: w.newest, cell: row => (row.latest ? <Newest row={row} /> : '–') },
    {
      key: 'files',
      title: w.files,
      isNumber: true,
      cell: row => row.latest?.files.toLocaleString(locale) ?? '–',
      by: row => row.latest?.files ?? 0,
    },
    {
      key: 'size',
      title: w.size,
      isNumber: true,
      cell: row => (row.latest ? bytes(row.latest.bytes) : '–'),
      by: row => row.latest?.bytes ?? 0,
    },
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

function Newest({ row }: { row: DatasetView }) {
  return (
    <>
      <span className="nowrap">@{row.latest?.version}</span>
      <div className="mono soft small">{row.latest?.at}</div>
    </>
  )
}
