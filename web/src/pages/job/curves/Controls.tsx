import { useId } from 'react'
import { download } from '../../../api/client.ts'
import type { JobDetail } from '../../../api/queries.ts'
import { useLineState } from '../../../curves/Followed.tsx'
import type { XKind } from '../../../curves/pieces.ts'
import { Button } from '../../../ui/Button.tsx'
import { Choice } from '../../../ui/Choice.tsx'
import { Icon } from '../../../ui/Icon.tsx'
import { SearchInput } from '../../../ui/SearchInput.tsx'
import { useToasts } from '../../../ui/Toasts.tsx'
import { useWords } from '../../../words/index.tsx'
import { type CurveChoices, SMOOTHING_MAX } from './choices.ts'
import { Versions } from './Versions.tsx'

interface Props {
  job: JobDetail
  choices: CurveChoices
  choose: (choices: Record<string, string | null>) => void
  setSmoothing: (weight: number) => void
  tasks: string[]
  groups: string[]
}

/** What is drawn and how. */
export function Controls({ job, choices, choose, setSmoothing, tasks, groups }: Props) {
  const { curves: words, charts } = useWords()
  const { tellError } = useToasts()
  const save = () => {
    const query = new URLSearchParams()
    if (choices.metric) query.set('name', choices.metric)
    if (choices.task) query.set('task', choices.task)
    if (choices.group !== undefined) query.set('group', choices.group)
    const path = `/api/v1/jobs/${encodeURIComponent(job.id)}/metrics/csv`
    download(query.size > 0 ? `${path}?${query}` : path).catch(tellError)
  }
  const chooseX = (x: XKind) => choose({ x: x === 'step' ? null : x, from: null, to: null })
  return (
    <section className="panel curve-controls" aria-label={charts.shown}>
      <SearchInput label={words.find} text={choices.find} change={find => choose({ find })} />
      <Choice label={words.x} value={choices.x} onChange={value => chooseX(value as XKind)}>
        {Object.entries(words.xs).map(([key, name]) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </Choice>
      <Smoothing value={choices.smoothing} onChange={setSmoothing} />
      <label className="check">
        <input
          type="checkbox"
          checked={choices.log}
          onChange={event => choose({ log: event.target.checked ? '1' : null })}
        />
        {words.log}
      </label>
      {tasks.length > 1 && (
        <Choice label={words.task} value={choices.task ?? ''} onChange={task => choose({ task })}>
          <option value="">{words.allTasks}</option>
          {tasks.map(it => (
            <option key={it}>{it}</option>
          ))}
        </Choice>
      )}
      {groups.length > 1 && (
        <Choice
          label={words.group}
          value={choices.group === '' ? '-' : (choices.group ?? '')}
          onChange={group => choose({ group })}
        >
          <option value="">{words.allGroups}</option>
          {groups.map(it => (
            <option key={it} value={it || '-'}>
              {it || words.noGroup}
            </option>
          ))}
        </Choice>
      )}
      <Versions
        job={job}
        chosen={choices.versions}
        onChoose={versions => choose({ with: versions.join(',') || null })}
      />
      <Button title={words.csvHint} onClick={save}>
        <Icon name="down" />
        {words.csv}
      </Button>
      <LineState />
    </section>
  )
}

function LineState() {
  const { curves: words } = useWords()
  const line = useLineState()
  return (
    <span role="status" className="small soft">
      {line === 'live' && `● ${words.live}`}
      {line === 'cut' && words.again}
    </span>
  )
}

function Smoothing({ value, onChange }: { value: number; onChange: (value: number) => void }) {
  const { curves: words } = useWords()
  const id = useId()
  return (
    <span className="smoothing">
      <label htmlFor={id}>{words.smoothing}</label>
      <input
        id={id}
        type="range"
        min={0}
        max={SMOOTHING_MAX}
        step={0.01}
        value={value}
        onChange={event => onChange(Number(event.target.value))}
      />
      <output htmlFor={id}>{value.toFixed(2)}</output>
    </span>
  )
}
