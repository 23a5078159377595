import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { DatasetDetail, DatasetVersionView } from '../../api/datasets.ts'
import * as sets from '../../api/datasets.ts'
import { ApiError, tellingOf } from '../../api/error.ts'
import { paths } from '../../paths.ts'
import { Page } from '../../Shell.tsx'
import { Button } from '../../ui/Button.tsx'
import { Confirm } from '../../ui/Confirm.tsx'
import { Fact } from '../../ui/Fact.tsx'
import { Empty, Trouble } from '../../ui/Say.tsx'
import { Ago } from '../../ui/Time.tsx'
import { useToasts } from '../../ui/Toasts.tsx'
import { useChoices } from '../../useChoices.ts'
import { useLanguage, useWords } from '../../words/index.tsx'
import { FileBrowser } from '../FileBrowser.tsx'
import { AddDataset } from './AddDataset.tsx'
import { DatasetVersions } from './DatasetVersions.tsx'

export default function DatasetPage({ name }: { name: string }) {
  const { words, language } = useLanguage()
  const w = words.datasets
  const { data, error, refetch } = useQuery(sets.dataset(name))
  if (data) return <Known dataset={data} />
  if (!error) return null
  const isGone = error instanceof ApiError && error.status === 404
  return (
    <Page title={name}>
      {isGone && (
        <Empty icon="datasets" title={w.notThere} hint={tellingOf(error, language).message}>
          <Link className="button" href={paths.datasets}>
            {w.toAll}
          </Link>
        </Empty>
      )}
      {!isGone && <Trouble error={error} again={refetch} />}
    </Page>
  )
}

function Known({ dataset }: { dataset: DatasetDetail }) {
  const words = useWords()
  const w = words.datasets
  const { latest } = dataset
  const [search] = useChoices()
  const shown = dataset.all.find(it => String(it.version) === search.get('version'))
  const [isAdding, setAdding] = useState(false)
  const { forget, forgetAll } = useForgetting(dataset)
  const [going, ask] = useState<DatasetVersionView | 'all' | null>(null)
  return (
    <Page
      title={dataset.name}
      ends={
        <>
          {latest && (
            <Link className="button primary" href={paths.createReading(sets.versionName(latest))}>
              {w.train}
            </Link>
          )}
          <Button onClick={() => setAdding(true)}>{w.newVersion}</Button>
          <Button look="danger" onClick={() => ask('all')}>
            {w.forgetAll}
          </Button>
        </>
      }
    >
      {dataset.description && <p className="soft description">{dataset.description}</p>}
      <section className="panel">
        <dl className="body facts">
          <Fact name={w.newest}>{latest ? `@${latest.version}` : words.app.none}</Fact>
          <Fact name={w.count}>{dataset.versions}</Fact>
          <Fact name={w.owner}>{dataset.owner || words.volumes.server}</Fact>
          <Fact name={w.made}>
            <Ago at={dataset.created_at_ms} />
          </Fact>
        </dl>
      </section>
      <section className="panel" aria-label={w.versions}>
        <header>
          <h2>{w.versions}</h2>
        </header>
        {dataset.all.length === 0 && <Empty icon="datasets" title={w.noVersions} hint={w.noVersionsHint} />}
        {dataset.all.length > 0 && <DatasetVersions versions={dataset.all} shown={shown?.version} forget={ask} />}
      </section>
      {shown && <Files version={shown} />}
      {isAdding && <AddDataset of={dataset} onClose={() => setAdding(false)} />}
      {going !== null && (
        <Confirm
          title={w.forgetTitle(going === 'all' ? dataset.name : sets.versionName(going))}
          hint={going === 'all' ? w.forgetAllHint : w.forgetVersionHint}
          yes={w.forget}
          onYes={() => (going === 'all' ? forgetAll() : forget(going))}
          onClose={() => ask(null)}
        />
      )}
    </Page>
  )
}

/** What is in a version now; a file is looked at or downloaded from here. */
function Files({ version }: { version: DatasetVersionView }) {
  const { datasets: w } = useWords()
  const name = sets.versionName(version)
  return (
    <section className="panel" aria-label={w.filesOf(name)}>
      <header>
        <h2>{w.filesOf(name)}</h2>
      </header>
      <FileBrowser root={`${name}:`} title={name} beside={{ version: String(version.version) }} />
    </section>
  )
}

function useForgetting({ name }: DatasetDetail) {
  const { datasets: w } = useWords()
  const client = useQueryClient()
  const { tell, tellError } = useToasts()
  const [, go] = useLocation()
  const doing = async (what: string, deed: () => Promise<unknown>, then?: () => void) => {
    try {
      await deed()
      tell(w.forgotten(what))
      then?.()
      await client.invalidateQueries({ queryKey: ['datasets'] })
    } catch (error) {
      tellError(error)
    }
  }
  return {
    forget: (it: DatasetVersionView) =>
      doing(sets.versionName(it), () => sets.forgetDatasetVersion(it.dataset, it.version)),
    forgetAll: () =>
      doing(
        name,
        () => sets.forgetDataset(name),
        () => go(paths.datasets),
      ),
  }
}
