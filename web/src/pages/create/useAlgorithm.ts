import { useQuery } from '@tanstack/react-query'
import type { Algorithm } from '../../api/algorithms.ts'
import * as algorithms from '../../api/algorithms.ts'
import { versionedOf } from '../pick/place.ts'
import { algorithmOf } from './algorithm.ts'
import type { Draft } from './draft.ts'

/** The document of the algorithm that a job uses, once it is known. */
export function useAlgorithm(draft: Draft): Algorithm | undefined {
  const named = versionedOf(algorithmOf(draft))
  const { data } = useQuery({
    ...algorithms.algorithmVersion(named?.name ?? '', named?.version ?? ''),
    enabled: named !== null,
  })
  return named ? data?.document : undefined
}
