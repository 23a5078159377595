import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { AlgorithmDetail } from '../../api/algorithms.ts'
import * as algorithms from '../../api/algorithms.ts'
import { paths } from '../../paths.ts'
import { Page } from '../../Shell.tsx'
import { Button } from '../../ui/Button.tsx'
import { Trouble } from '../../ui/Say.tsx'
import { useChoices } from '../../useChoices.ts'
import { useWords } from '../../words/index.tsx'
import { NotShown } from '../versioned/NotShown.tsx'
import { useForgetting } from '../versioned/useForgetting.tsx'
import { AlgorithmDocument } from './AlgorithmDocument.tsx'
import { AlgorithmVersions } from './AlgorithmVersions.tsx'
import { WriteAlgorithm } from './WriteAlgorithm.tsx'

export default function AlgorithmPage({ name }: { name: string }) {
  const { data, error, refetch } = useQuery(algorithms.algorithm(name))
  const [search] = useChoices()
  if (data) return search.get('write') ? <WriteNext of={data} /> : <Known algorithm={data} />
  return error && <NotShown kind="algorithms" name={name} error={error} again={refetch} />
}

/** The next version begins with the one that is the newest now, or with nothing where all were forgotten. */
function WriteNext({ of: { name, latest } }: { of: AlgorithmDetail }) {
  const [begun] = useState(latest?.version)
  const { data, error, refetch } = useQuery({
    ...algorithms.algorithmVersion(name, String(begun)),
    enabled: begun !== undefined,
  })
  if (begun === undefined || data) return <WriteAlgorithm of={{ name, newest: latest?.version, begun: data }} />
  return error && <NotShown kind="algorithms" name={name} error={error} again={refetch} />
}

/** Its versions, and all of the one that is looked at: the newest, unless the address has another. */
function Known({ algorithm }: { algorithm: AlgorithmDetail }) {
  const { algorithms: w } = useWords()
  const [search] = useChoices()
  const { ask, dialog } = useForgetting('algorithms', algorithm.name)
  const wanted = search.get('version')
  const shown = algorithm.all.find(it => String(it.version) === wanted) ?? algorithm.latest
  return (
    <Page
      title={algorithm.name}
      ends={
        <>
          {shown && (
            <Link className="button primary" href={paths.createFromAlgorithm(algorithms.versionName(shown))}>
              {w.train}
            </Link>
          )}
          <Link className="button" href={paths.writeAlgorithm(algorithm.name)}>
            {w.newVersion}
          </Link>
          <Button look="danger" onClick={() => ask('all')}>
            {w.forgetAll}
          </Button>
        </>
      }
    >
      {algorithm.description && <p className="soft description">{algorithm.description}</p>}
      <AlgorithmVersions of={algorithm} shown={shown?.version} forget={ask} />
      {shown && <Shown name={algorithm.name} version={String(shown.version)} />}
      {dialog}
    </Page>
  )
}

/** What a version says is asked for by itself: it may be long. */
function Shown({ name, version }: { name: string; version: string }) {
  const { data, error, refetch } = useQuery(algorithms.algorithmVersion(name, version))
  if (data) return <AlgorithmDocument version={data} />
  return error && <Trouble error={error} again={refetch} />
}
