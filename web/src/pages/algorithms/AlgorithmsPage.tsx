import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { AlgorithmView } from '../../api/algorithms.ts'
import * as algorithms from '../../api/algorithms.ts'
import { paths } from '../../paths.ts'
import type { Column } from '../../ui/list.ts'
import { useChoices } from '../../useChoices.ts'
import { useWords } from '../../words/index.tsx'
import { AllPage } from '../versioned/AllPage.tsx'
import { frameworkIn, frameworkOf } from './told.ts'
import { WriteAlgorithm } from './WriteAlgorithm.tsx'

export default function AlgorithmsPage() {
  const [search] = useChoices()
  return search.get('write') ? <WriteAlgorithm /> : <All />
}

function All() {
  const { algorithms: w } = useWords()
  const all = useQuery(algorithms.algorithms())
  const newest: Column<AlgorithmView> = {
    key: 'newest',
    title: w.newest,
    cell: row => (row.latest ? `@${row.latest.version}` : '–'),
  }
  return (
    <AllPage
      kind="algorithms"
      all={all}
      columns={[frameworkIn(w), newest]}
      foundBy={frameworkOf}
      command="trainmaster algorithms add algorithm.yaml"
      add={
        <Link className="button primary" href={paths.writeAlgorithm()}>
          {w.add}
        </Link>
      }
    />
  )
}
