// What is around the code of an algorithm, as a column of a list of them.
import type { AlgorithmView } from '../../api/algorithms.ts'
import type { Column } from '../../ui/list.ts'
import type { Words } from '../../words/en.ts'
import { around } from './told.ts'

/** That of its newest version. */
export const frameworkOf = ({ latest }: AlgorithmView): string => (latest ? around(latest.document) : '')

export const frameworkIn = (w: Words['algorithms']): Column<AlgorithmView> => ({
  key: 'framework',
  title: w.framework,
  cell: row => frameworkOf(row) || w.noFramework,
  by: frameworkOf,
})
