import { Link } from 'wouter'
import type { DatasetVersionView } from '../../api/datasets.ts'
import { versionName } from '../../api/datasets.ts'
import { bytes } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/Button.tsx'
import { Ago } from '../../ui/Time.tsx'
import { useWords } from '../../words/index.tsx'
import { JobLinks } from '../JobLinks.tsx'
import { placeOf } from '../pick/place.ts'

interface Props {
  versions: DatasetVersionView[]
  /** The one whose files are looked at. */
  shown: number | undefined
  forget: (version: DatasetVersionView) => void
}

/** Every version there is, the newest first. */
export function DatasetVersions({ versions, shown, forget }: Props) {
  const { app, datasets: w } = useWords()
  return (
    <div className="table-box">
      <table className="list">
        <thead>
          <tr>
            <th>{w.version}</th>
            <th>{w.place}</th>
            <th className="number">{w.files}</th>
            <th className="number">{w.size}</th>
            <th>{w.note}</th>
            <th>{w.jobs}</th>
            <th>{w.made}</th>
            <th>
              <span className="unseen">{app.more}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {versions.map(it => (
            <Row key={it.version} version={it} isShown={it.version === shown} forget={forget} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface RowProps {
  version: DatasetVersionView
  isShown: boolean
  forget: Props['forget']
}

function Row({ version: it, isShown, forget }: RowProps) {
  const { app, datasets: w, locale } = useWords()
  return (
    <tr aria-selected={isShown}>
      <th scope="row">
        <Link href={paths.dataset(it.dataset, String(it.version))} aria-current={isShown || undefined}>
          @{it.version}
        </Link>
      </th>
      <td className="mono about">
        <PlaceLink at={it.at} />
      </td>
      <td className="number" title={`${w.fingerprint}: ${it.fingerprint}`}>
        {it.files.toLocaleString(locale)}
      </td>
      <td className="number nowrap">{bytes(it.bytes)}</td>
      <td className="about">{it.note}</td>
      <td>
        <JobLinks jobs={it.jobs} none={w.noJobs} />
      </td>
      <td>
        <Ago at={it.created_at_ms} />
        <div className="soft small">{it.made_by}</div>
      </td>
      <td className="row-ends">
        <Link
          className="button tight"
          href={paths.createReading(versionName(it))}
          aria-label={app.about(w.train, versionName(it))}
        >
          {w.train}
        </Link>
        <Button tight look="danger" aria-label={w.forgetVersion(versionName(it))} onClick={() => forget(it)}>
          {w.forget}
        </Button>
      </td>
    </tr>
  )
}

/** Where it is; in a volume one can look at it. */
function PlaceLink({ at }: { at: string }) {
  const place = at.includes(':') ? placeOf(at) : null
  return place ? <Link href={paths.volume(place.volume, place.path)}>{at}</Link> : at
}
