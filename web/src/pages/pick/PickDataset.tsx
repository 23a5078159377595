import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import * as sets from '../../api/datasets.ts'
import { bytes } from '../../format.ts'
import { paths } from '../../paths.ts'
import type { Column } from '../../ui/list.ts'
import { Empty } from '../../ui/Say.tsx'
import { Ago } from '../../ui/Time.tsx'
import { useWords } from '../../words/index.tsx'
import { PickVersioned } from './PickVersioned.tsx'

interface Props {
  value: string
  pick: (value: string) => void
  onClose: () => void
}

function useNumbers(name: string): number[] {
  const { data } = useQuery(sets.dataset(name))
  return data?.all.map(it => it.version) ?? []
}

/** A dataset and one of its versions. */
export function PickDataset(around: Props) {
  const { datasets: w, pick } = useWords()
  const { data, error } = useQuery(sets.datasets())
  const columns: Column<sets.DatasetView>[] = [
    {
      key: 'size',
      title: w.size,
      isNumber: true,
      cell: row => bytes(row.latest?.bytes ?? 0),
      by: row => row.latest?.bytes ?? 0,
    },
    { key: 'description', title: w.description, isLong: true, cell: row => row.description },
    {
      key: 'made',
      title: w.made,
      cell: row => row.latest && <Ago at={row.latest.created_at_ms} />,
      by: row => row.latest?.created_at_ms ?? 0,
    },
  ]
  return (
    <PickVersioned
      {...around}
      title={pick.datasetTitle}
      rows={data}
      error={error}
      columns={columns}
      nameTitle={w.name}
      versionTitle={w.version}
      useNumbers={useNumbers}
      empty={
        data && (
          <Empty icon="datasets" title={w.empty} hint={pick.datasetsEmptyHint}>
            <Link className="button" href={paths.datasets}>
              {pick.toDatasets}
            </Link>
          </Empty>
        )
      }
    />
  )
}
