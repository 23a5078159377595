import { useQuery } from '@tanstack/react-query'
import * as algorithms from '../../api/algorithms.ts'
import { useWords } from '../../words/index.tsx'
import { frameworkIn } from '../algorithms/told.ts'
import { type Picking, PickVersioned } from './PickVersioned.tsx'

function useNumbers(name: string): number[] {
  const { data } = useQuery(algorithms.algorithm(name))
  return data?.all.map(it => it.version) ?? []
}

/** An algorithm and one of its versions. */
export function PickAlgorithm(picking: Picking) {
  const { algorithms: w } = useWords()
  const all = useQuery(algorithms.algorithms())
  return <PickVersioned {...picking} kind="algorithms" all={all} columns={[frameworkIn(w)]} useNumbers={useNumbers} />
}
