import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import type { AlgorithmVersionView } from '../../api/algorithms.ts'
import * as algorithms from '../../api/algorithms.ts'
import { paths } from '../../paths.ts'
import { useToasts } from '../../ui/Toasts.tsx'
import { useWords } from '../../words/index.tsx'

/** The ways to forget one version of an algorithm, or all of them. */
export function useForgetting(name: string) {
  const { algorithms: w } = useWords()
  const client = useQueryClient()
  const { tell, tellError } = useToasts()
  const [, go] = useLocation()
  const doing = async (what: string, deed: () => Promise<unknown>, next: string) => {
    try {
      await deed()
      tell(w.forgotten(what))
      go(next)
      await client.invalidateQueries({ queryKey: ['algorithms'] })
    } catch (error) {
      tellError(error)
    }
  }
  return {
    forget: (it: AlgorithmVersionView) =>
      doing(
        algorithms.versionName(it),
        () => algorithms.forgetAlgorithmVersion(name, it.version),
        paths.algorithm(name),
      ),
    forgetAll: () => doing(name, () => algorithms.forgetAlgorithm(name), paths.algorithms),
  }
}
