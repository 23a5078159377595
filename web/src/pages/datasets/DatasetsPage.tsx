import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { DatasetView } from '../../api/datasets.ts'
import * as sets from '../../api/datasets.ts'
import { bytes } from '../../format.ts'
import { Button } from '../../ui/Button.tsx'
import type { Column } from '../../ui/list.ts'
import type { Words } from '../../words/en.ts'
import { useWords } from '../../words/index.tsx'
import { AllPage } from '../versioned/AllPage.tsx'
import { AddDataset } from './AddDataset.tsx'

export default function DatasetsPage() {
  const words = useWords()
  const { datasets: w } = words
  const all = useQuery(sets.datasets())
  const [isAdding, setAdding] = useState(false)
  return (
    <>
      <AllPage
        kind="datasets"
        all={all}
        columns={columnsIn(words)}
        foundBy={row => row.latest?.at ?? ''}
        command="trainmaster datasets add mnist data:mnist/train"
        add={
          <Button look="primary" onClick={() => setAdding(true)}>
            {w.add}
          </Button>
        }
      />
      {isAdding && <AddDataset onClose={() => setAdding(false)} />}
    </>
  )
}

function columnsIn({ datasets: w, locale }: Words): Column<DatasetView>[] {
  return [
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
