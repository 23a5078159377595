import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { DatasetDetail, DatasetVersionView } from '../../api/datasets.ts'
import * as sets from '../../api/datasets.ts'
import { paths } from '../../paths.ts'
import { Page } from '../../Shell.tsx'
import { Button } from '../../ui/Button.tsx'
import { Fact } from '../../ui/Fact.tsx'
import { Ago } from '../../ui/Time.tsx'
import { useChoices } from '../../useChoices.ts'
import { useWords } from '../../words/index.tsx'
import { FileBrowser } from '../FileBrowser.tsx'
import { NotShown } from '../versioned/NotShown.tsx'
import { useForgetting } from '../versioned/useForgetting.tsx'
import { AddDataset } from './AddDataset.tsx'
import { DatasetVersions } from './DatasetVersions.tsx'

export default function DatasetPage({ name }: { name: string }) {
  const { data, error, refetch } = useQuery(sets.dataset(name))
  if (data) return <Known dataset={data} />
  return error && <NotShown kind="datasets" name={name} error={error} again={refetch} />
}

/** Its versions, and the files of one if the address has it. */
function Known({ dataset }: { dataset: DatasetDetail }) {
  const { datasets: w } = useWords()
  const { latest } = dataset
  const [search] = useChoices()
  const shown = dataset.all.find(it => String(it.version) === search.get('version'))
  const [isAdding, setAdding] = useState(false)
  const { ask, dialog } = useForgetting('datasets', dataset.name)
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
      <Facts dataset={dataset} />
      <DatasetVersions of={dataset} shown={shown?.version} forget={ask} />
      {shown && <Files version={shown} />}
      {isAdding && <AddDataset of={dataset} onClose={() => setAdding(false)} />}
      {dialog}
    </Page>
  )
}

function Facts({ dataset: { latest, versions, owner, created_at_ms } }: { dataset: DatasetDetail }) {
  const { app, datasets: w, volumes } = useWords()
  return (
    <section className="panel">
      <dl className="body facts">
        <Fact name={w.newest}>{latest ? `@${latest.version}` : app.none}</Fact>
        <Fact name={w.count}>{versions}</Fact>
        <Fact name={w.owner}>{owner || volumes.server}</Fact>
        <Fact name={w.made}>
          <Ago at={created_at_ms} />
        </Fact>
      </dl>
    </section>
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
