import { useQuery } from '@tanstack/react-query'
import * as sets from '../../api/datasets.ts'
import { bytes } from '../../format.ts'
import type { Column } from '../../ui/list.ts'
import { useWords } from '../../words/index.tsx'
import { type Picking, PickVersioned } from './PickVersioned.tsx'

function useNumbers(name: string): number[] {
  const { data } = useQuery(sets.dataset(name))
  return data?.all.map(it => it.version) ?? []
}

/** A dataset and one of its versions. */
export function PickDataset(picking: Picking) {
  const { datasets: w } = useWords()
  const all = useQuery(sets.datasets())
  const size: Column<sets.DatasetView> = {
    key: 'size',
    title: w.size,
    isNumber: true,
    cell: row => bytes(row.latest?.bytes ?? 0),
    by: row => row.latest?.bytes ?? 0,
  }
  return <PickVersioned {...picking} kind="datasets" all={all} columns={[size]} useNumbers={useNumbers} />
}
