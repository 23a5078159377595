import type { AlgorithmDetail } from '../../api/algorithms.ts'
import { useWords } from '../../words/index.tsx'
import { Versions } from '../versioned/Versions.tsx'
import { around } from './told.ts'

interface Props {
  of: AlgorithmDetail
  /** The one that is looked at. */
  shown: number | undefined
  forget: (version: number) => void
}

export function AlgorithmVersions(props: Props) {
  const { algorithms: w } = useWords()
  return (
    <Versions
      {...props}
      kind="algorithms"
      shownAs={w.shown}
      columns={[
        { key: 'framework', title: w.framework, cell: it => around(it) || w.noFramework },
        { key: 'description', title: w.description, isLong: true, cell: it => it.description },
      ]}
    />
  )
}
