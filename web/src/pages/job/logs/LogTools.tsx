import { useEffect, useState } from 'react'
import type { JobDetail } from '../../../api/queries.ts'
import { localInput } from '../../../format.ts'
import { Button } from '../../../ui/Button.tsx'
import { Choice } from '../../../ui/Choice.tsx'
import { Icon } from '../../../ui/Icon.tsx'
import { SearchInput } from '../../../ui/SearchInput.tsx'
import { useWords } from '../../../words/index.tsx'
import { TaskPicker } from './TaskPicker.tsx'
import { COUNTS, type Key, type LogFilter, type Switch } from './useLogFilter.ts'

const TYPING_MS = 300

interface Props {
  job: JobDetail
  tasks: string[]
  filter: LogFilter
  follow: boolean
  setFollow: (on: boolean) => void
  download: () => void
}

export function LogTools({ job, tasks, filter, follow, setFollow, download }: Props) {
  const words = useWords()
  const w = words.logs
  const { set, isOn } = filter
  const only = filter.tasks.length === 1 || tasks.length === 1
  return (
    <header className="log-tools">
      <TaskPicker tasks={tasks} picked={filter.tasks} pick={picked => set('task', picked.join(','))} />
      <Choice label={w.lines} value={String(filter.count ?? 'all')} onChange={value => set('lines', value)}>
        {COUNTS.map(count => (
          <option key={count} value={count}>
            {w.lastLines(count)}
          </option>
        ))}
        <option value="all">{w.everything}</option>
      </Choice>
      <Find filter={filter} />
      <Moment label={w.since} at={filter.since} change={at => set('since', at)} />
      <Moment label={w.until} at={filter.until} change={at => set('until', at)} />
      <Choice label={w.stream} value={filter.stream ?? ''} onChange={value => set('stream', value)}>
        <option value="">{w.anyStream}</option>
        <option>stdout</option>
        <option>stderr</option>
        <option value="platform">{w.platform}</option>
      </Choice>
      {job.runs.some(run => run.attempt > 1) && (
        <Choice label={w.attempt} value={filter.attempt} onChange={value => set('attempt', value)}>
          <option value="">{w.newestAttempt}</option>
          <option value="all">{w.everyAttempt}</option>
          {[...new Set(job.runs.map(run => run.attempt))].sort().map(it => (
            <option key={it} value={it}>
              {w.attemptNumber(it)}
            </option>
          ))}
        </Choice>
      )}
      <div className="log-switches">
        {(['wrap', 'times'] as const).map(it => (
          <Switched key={it} isOn={isOn(it)} change={on => set(it, on ? '1' : '')} label={w[it]} />
        ))}
        {tasks.length > 1 && (
          <Switched isOn={isOn('lanes')} change={on => set('lanes', on ? '1' : '')} label={w.lanes} />
        )}
        <Switched isOn={follow} change={setFollow} label={w.follow} />
        <Button
          title={only ? w.downloadOne : filter.tasks.length > 0 ? w.downloadSome : w.downloadAll}
          onClick={download}
        >
          <Icon name="down" />
          {w.download}
        </Button>
      </div>
    </header>
  )
}

function Switched({ isOn, change, label }: { isOn: boolean; change: (on: boolean) => void; label: string }) {
  return (
    <label className="check">
      <input type="checkbox" checked={isOn} onChange={event => change(event.target.checked)} />
      {label}
    </label>
  )
}

/** Asks the server once the typing pauses. */
function Find({ filter: { find, isOn, set } }: { filter: LogFilter }) {
  const { logs: w } = useWords()
  const [text, setText] = useState(find)
  useEffect(() => setText(find), [find])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing starts the clock
  useEffect(() => {
    if (text === find) return
    const timer = setTimeout(() => set('find', text), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text])
  const mark = (key: Switch & Key, shown: string, label: string) => (
    <button
      type="button"
      className="button tight"
      aria-pressed={isOn(key)}
      aria-label={label}
      title={label}
      onClick={() => set(key, isOn(key) ? '' : '1')}
    >
      {shown}
    </button>
  )
  return (
    <span className="log-find">
      <SearchInput label={w.find} text={text} change={setText} />
      {mark('case', 'Aa', w.matchCase)}
      {mark('regex', '.*', w.regex)}
    </span>
  )
}

function Moment({ label, at, change }: { label: string; at: number | undefined; change: (at: string) => void }) {
  return (
    <label className="log-moment">
      <span>{label}</span>
      <input
        className="input"
        type="datetime-local"
        step={1}
        value={at === undefined ? '' : localInput(at)}
        onChange={event => change(event.target.value === '' ? '' : String(new Date(event.target.value).getTime()))}
      />
    </label>
  )
}
