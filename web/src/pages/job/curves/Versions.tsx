import { useQuery } from '@tanstack/react-query'
import type { JobDetail } from '../../../api/queries.ts'
import * as queries from '../../../api/queries.ts'
import { Popover } from '../../../ui/Popover.tsx'
import { State } from '../../../ui/State.tsx'
import { useWords } from '../../../words/index.tsx'
import { VERSIONS_MAX } from './choices.ts'

interface Props {
  job: JobDetail
  chosen: number[]
  onChoose: (versions: number[]) => void
}

const told = (params: Record<string, unknown>, names: string[]) =>
  names.map(name => `${name}=${String(params[name] ?? '–')}`).join('  ')

/** Other versions of the same job, each with the parameters that tell it from the rest. */
export function Versions({ job, chosen, onChoose }: Props) {
  const { curves } = useWords()
  const { data } = useQuery(queries.versions(job.id))
  const others = data?.versions.filter(it => it.version !== job.version) ?? []
  const toggle = (version: number) =>
    onChoose(
      chosen.includes(version) ? chosen.filter(it => it !== version) : [...chosen, version].sort((a, b) => a - b),
    )
  return (
    <Popover label={curves.versionsChosen(chosen.length)}>
      <fieldset className="versions-list">
        <legend className="soft small">{data && others.length === 0 ? curves.noVersions : curves.versionsHint}</legend>
        {others.map(it => {
          const isFull = chosen.length >= VERSIONS_MAX && !chosen.includes(it.version)
          return (
            <label key={it.id} className="check" title={isFull ? curves.tooMany(VERSIONS_MAX) : undefined}>
              <input
                type="checkbox"
                checked={chosen.includes(it.version)}
                disabled={isFull}
                onChange={() => toggle(it.version)}
              />
              <span>
                {job.name}@{it.version}
              </span>
              <State state={it.state} />
              <span className="soft small mono">{told(it.params as Record<string, unknown>, data?.params ?? [])}</span>
            </label>
          )
        })}
      </fieldset>
    </Popover>
  )
}
