import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { removeVolume, testVolume } from '../api/actions.ts'
import type { Volume, VolumeCheck, VolumeView } from '../api/queries.ts'
import * as queries from '../api/queries.ts'
import { paths } from '../paths.ts'
import { Page } from '../Shell.tsx'
import { Button } from '../ui/Button.tsx'
import { Confirm } from '../ui/Confirm.tsx'
import { Empty, Trouble } from '../ui/Say.tsx'
import { Ago } from '../ui/Time.tsx'
import { useToasts } from '../ui/Toasts.tsx'
import { useLanguage, useWords } from '../words/index.tsx'
import { AddVolume } from './AddVolume.tsx'

/** Where it is, in one line. */
function where(volume: Volume): string {
  switch (volume.kind) {
    case 'local':
      return volume.path
    case 's3':
      return `${volume.endpoint ?? 's3:'}/${volume.bucket}${volume.prefix ? `/${volume.prefix}` : ''}`
    case 'http':
      return volume.url
    case 'claim':
      return volume.claim
    case 'nfs':
      return `${volume.server}:${volume.path}`
  }
}

export default function VolumesPage() {
  const words = useWords()
  const volumes = useQuery(queries.volumes())
  const [adding, setAdding] = useState(false)
  return (
    <Page
      title={words.volumes.title}
      ends={
        <Button look="primary" onClick={() => setAdding(true)}>
          {words.volumes.add}
        </Button>
      }
    >
      <p className="soft">{words.volumes.intro}</p>
      {volumes.error && <Trouble error={volumes.error} />}
      <section className="panel" aria-label={words.volumes.title}>
        {volumes.data?.length === 0 && (
          <Empty icon="volumes" title={words.volumes.empty} hint={words.volumes.emptyHint} />
        )}
        {volumes.data && volumes.data.length > 0 && <Table volumes={volumes.data} />}
      </section>
      {adding && <AddVolume onClose={() => setAdding(false)} />}
    </Page>
  )
}

function Table({ volumes }: { volumes: VolumeView[] }) {
  const words = useWords()
  return (
    <div className="table-box">
      <table>
        <thead>
          <tr>
            <th>{words.volumes.name}</th>
            <th>{words.volumes.kind}</th>
            <th>{words.volumes.where}</th>
            <th>{words.volumes.owner}</th>
            <th>{words.volumes.since}</th>
            <th>
              <span className="unseen">{words.app.more}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {volumes.map(volume => (
            <VolumeRow key={volume.name} volume={volume} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function VolumeRow({ volume }: { volume: VolumeView }) {
  const { words, language } = useLanguage()
  const client = useQueryClient()
  const { tell, tellError } = useToasts()
  const [asking, setAsking] = useState(false)
  const said = ({ what, refused, refused_zh }: VolumeCheck) =>
    words.app.about(words.volumes.checks[what] ?? what, (language === 'zh' && refused_zh) || refused || '')
  const test = async () => {
    try {
      const refused = (await testVolume(volume.name)).filter(check => check.refused != null)
      if (refused.length === 0) tell(words.volumes.tested(volume.name))
      else tellError(words.volumes.testFailed(refused.map(said)), volume.name)
    } catch (error) {
      tellError(error, volume.name)
    }
  }
  const remove = async () => {
    try {
      await removeVolume(volume.name)
      tell(words.volumes.removed(volume.name))
      await client.invalidateQueries({ queryKey: ['volumes'] })
    } catch (error) {
      tellError(error)
    }
  }
  return (
    <tr>
      <th scope="row">
        <Link href={paths.volume(volume.name)}>{volume.name}</Link>
      </th>
      <td className="nowrap">{words.volumes.kinds[volume.volume.kind]}</td>
      <td className="mono">{where(volume.volume)}</td>
      <td>{volume.owner || words.volumes.server}</td>
      <td>
        <Ago at={volume.created_at_ms} />
      </td>
      <td className="row-ends">
        <Button tight onClick={test}>
          {words.volumes.test}
        </Button>
        <Button tight look="danger" onClick={() => setAsking(true)}>
          {words.volumes.remove}
        </Button>
        {asking && (
          <Confirm
            title={words.volumes.removeTitle(volume.name)}
            hint={words.volumes.removeHint}
            yes={words.volumes.remove}
            onYes={remove}
            onClose={() => setAsking(false)}
          />
        )}
      </td>
    </tr>
  )
}
