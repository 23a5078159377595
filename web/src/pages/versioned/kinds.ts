// What has a name, an owner and numbered versions: algorithms and datasets.
import * as algorithms from '../../api/algorithms.ts'
import * as datasets from '../../api/datasets.ts'
import { paths } from '../../paths.ts'

export type Versioned = algorithms.AlgorithmView | datasets.DatasetView
export type Version = algorithms.AlgorithmVersionSummary | datasets.DatasetVersionView

/** Their words, their icon, the path of their list and what is kept of the server's answers go by this name as well. */
export type Kind = 'algorithms' | 'datasets'

interface Ways {
  /** The page of one of them, with one of its versions. */
  pathOf: (name: string, version?: string) => string
  /** Where a job begins that is made with a version. */
  pathToTrain: (version: string) => string
  /** Where the first one is made. */
  pathToMake: string
  forget: (name: string) => Promise<unknown>
  forgetVersion: (name: string, version: number) => Promise<unknown>
}

export const KINDS: Record<Kind, Ways> = {
  algorithms: {
    pathOf: paths.algorithm,
    pathToTrain: paths.createFromAlgorithm,
    pathToMake: paths.writeAlgorithm(),
    forget: algorithms.forgetAlgorithm,
    forgetVersion: algorithms.forgetAlgorithmVersion,
  },
  datasets: {
    pathOf: paths.dataset,
    pathToTrain: paths.createReading,
    pathToMake: paths.datasets,
    forget: datasets.forgetDataset,
    forgetVersion: datasets.forgetDatasetVersion,
  },
}
