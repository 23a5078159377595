import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { AlgorithmDetail, AlgorithmVersionView } from '../../api/algorithms.ts'
import * as algorithms from '../../api/algorithms.ts'
import { ApiError, tellingOf } from '../../api/error.ts'
import { paths } from '../../paths.ts'
import { Page } from '../../Shell.tsx'
import { Button } from '../../ui/Button.tsx'
import { Confirm } from '../../ui/Confirm.tsx'
import { Empty, Trouble } from '../../ui/Say.tsx'
import { useChoices } from '../../useChoices.ts'
import { useLanguage } from '../../words/index.tsx'
import { AlgorithmDocument } from './AlgorithmDocument.tsx'
import { AlgorithmVersions } from './AlgorithmVersions.tsx'
import { useForgetting } from './useForgetting.ts'
import { WriteAlgorithm } from './WriteAlgorithm.tsx'

export default function AlgorithmPage({ name }: { name: string }) {
  const { words, language } = useLanguage()
  const w = words.algorithms
  const { data, error, refetch } = useQuery(algorithms.algorithm(name))
  const [search] = useChoices()
  if (data) return search.get('write') ? <WriteAlgorithm of={data} /> : <Known algorithm={data} />
  if (!error) return null
  const isGone = error instanceof ApiError && error.status === 404
  return (
    <Page title={name}>
      {isGone && (
        <Empty icon="algorithms" title={w.notThere} hint={tellingOf(error, language).message}>
          <Link className="button" href={paths.algorithms}>
            {w.toAll}
          </Link>
        </Empty>
      )}
      {!isGone && <Trouble error={error} again={refetch} />}
    </Page>
  )
}

/** Its versions, and all of the one that is looked at: the newest, unless the address has another. */
function Known({ algorithm }: { algorithm: AlgorithmDetail }) {
  const { words } = useLanguage()
  const w = words.algorithms
  const [search] = useChoices()
  const { forget, forgetAll } = useForgetting(algorithm.name)
  const [going, ask] = useState<AlgorithmVersionView | 'all' | null>(null)
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
      <section className="panel" aria-label={w.versions}>
        <header>
          <h2>{w.versions}</h2>
        </header>
        {algorithm.all.length === 0 && <Empty icon="algorithms" title={w.noVersions} hint={w.noVersionsHint} />}
        {algorithm.all.length > 0 && (
          <AlgorithmVersions versions={algorithm.all} shown={shown?.version ?? 0} forget={ask} />
        )}
      </section>
      {shown && <AlgorithmDocument version={shown} />}
      {going !== null && (
        <Confirm
          title={w.forgetTitle(going === 'all' ? algorithm.name : algorithms.versionName(going))}
          hint={going === 'all' ? w.forgetAllHint : w.forgetVersionHint}
          yes={w.forget}
          onYes={() => (going === 'all' ? forgetAll() : forget(going))}
          onClose={() => ask(null)}
        />
      )}
    </Page>
  )
}
