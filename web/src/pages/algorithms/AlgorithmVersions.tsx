import { Link } from 'wouter'
import type { AlgorithmVersionView } from '../../api/algorithms.ts'
import { versionName } from '../../api/algorithms.ts'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/Button.tsx'
import { Ago } from '../../ui/Time.tsx'
import { useWords } from '../../words/index.tsx'
import { JobLinks } from '../JobLinks.tsx'
import { around } from './told.ts'

interface Props {
  versions: AlgorithmVersionView[]
  /** The one that is looked at. */
  shown: number
  forget: (version: AlgorithmVersionView) => void
}

/** Every version there is, the newest first. */
export function AlgorithmVersions({ versions, shown, forget }: Props) {
  const { app, algorithms: w } = useWords()
  return (
    <div className="table-box">
      <table className="list">
        <thead>
          <tr>
            <th>{w.version}</th>
            <th>{w.framework}</th>
            <th>{w.description}</th>
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
  version: AlgorithmVersionView
  isShown: boolean
  forget: Props['forget']
}

function Row({ version: it, isShown, forget }: RowProps) {
  const { app, algorithms: w } = useWords()
  const name = versionName(it)
  return (
    <tr aria-selected={isShown}>
      <th scope="row">
        <Link href={paths.algorithm(it.algorithm, String(it.version))} aria-current={isShown || undefined}>
          @{it.version}
        </Link>
        {isShown && <div className="soft small">{w.shown}</div>}
      </th>
      <td>{around(it.document) || w.noFramework}</td>
      <td className="about">{it.description}</td>
      <td>
        <JobLinks jobs={it.jobs} none={w.noJobs} />
      </td>
      <td>
        <Ago at={it.created_at_ms} />
        <div className="soft small">{it.made_by}</div>
      </td>
      <td className="row-ends">
        <Link className="button tight" href={paths.createFromAlgorithm(name)} aria-label={app.about(w.train, name)}>
          {w.train}
        </Link>
        <Button tight look="danger" aria-label={w.forgetVersion(name)} onClick={() => forget(it)}>
          {w.forget}
        </Button>
      </td>
    </tr>
  )
}
