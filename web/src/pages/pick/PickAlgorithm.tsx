import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import * as algorithms from '../../api/algorithms.ts'
import { paths } from '../../paths.ts'
import type { Column } from '../../ui/list.ts'
import { Empty } from '../../ui/Say.tsx'
import { Ago } from '../../ui/Time.tsx'
import { useWords } from '../../words/index.tsx'
import { around } from '../algorithms/told.ts'
import { PickVersioned } from './PickVersioned.tsx'

interface Props {
  value: string
  pick: (value: string) => void
  onClose: () => void
}

function useNumbers(name: string): number[] {
  const { data } = useQuery(algorithms.algorithm(name))
  return data?.all.map(it => it.version) ?? []
}

/** An algorithm and one of its versions. */
export function PickAlgorithm(props: Props) {
  const { algorithms: w, pick } = useWords()
  const { data, error } = useQuery(algorithms.algorithms())
  const framework = (row: algorithms.AlgorithmView) => (row.latest ? around(row.latest.document) : '')
  const columns: Column<algorithms.AlgorithmView>[] = [
    { key: 'framework', title: w.framework, cell: row => framework(row) || w.noFramework, by: framework },
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
      {...props}
      title={pick.algorithmTitle}
      rows={data}
      error={error}
      columns={columns}
      nameTitle={w.name}
      versionTitle={w.version}
      useNumbers={useNumbers}
      empty={
        data && (
          <Empty icon="algorithms" title={w.empty} hint={pick.algorithmsEmptyHint}>
            <Link className="button" href={paths.writeAlgorithm()}>
              {pick.toAlgorithms}
            </Link>
          </Empty>
        )
      }
    />
  )
}
