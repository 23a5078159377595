import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { JobFilter, JobState } from '../../api/queries.ts'
import * as queries from '../../api/queries.ts'
import { Button } from '../../ui/Button.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { SearchInput } from '../../ui/SearchInput.tsx'
import { useWords } from '../../words/index.tsx'
import type { Days, FilterKey } from './useFilter.ts'

const TYPING_MS = 250
export const ACTIVE = 'queued,starting,running,finishing,stopping,unknown'
export const OVER = 'succeeded,failed,stopped'

interface Props {
  filter: JobFilter
  days: Days
  set: (key: FilterKey, value: string | null) => void
  clear: (() => void) | null
  grouped: boolean
  setGrouped: (on: boolean) => void
}

export function Filters({ filter, days, set, clear, grouped, setGrouped }: Props) {
  const words = useWords()
  const about = useQuery(queries.about())
  const states = Object.keys(words.states) as JobState[]
  return (
    <search className="filters" aria-label={words.jobs.filters}>
      <Search value={filter.q ?? ''} change={text => set('q', text)} label={words.jobs.search} />
      <select
        className="select"
        aria-label={words.jobs.state}
        value={filter.state ?? ''}
        onChange={event => set('state', event.target.value)}
      >
        <option value="">{words.jobs.anyState}</option>
        <option value={ACTIVE}>{words.jobs.active}</option>
        <option value={OVER}>{words.jobs.over}</option>
        {states.map(state => (
          <option key={state} value={state}>
            {words.states[state]}
          </option>
        ))}
      </select>
      {about.data?.role === 'admin' && (
        <select
          className="select"
          aria-label={words.jobs.owner}
          value={filter.owner ?? ''}
          onChange={event => set('owner', event.target.value)}
        >
          <option value="">{words.jobs.everyone}</option>
          <option value={about.data.user}>{words.jobs.mine}</option>
          {filter.owner && filter.owner !== about.data.user && <option value={filter.owner}>{filter.owner}</option>}
        </select>
      )}
      <NodeFilter node={filter.node ?? ''} set={set} />
      {(['since', 'until'] as const).map(key => (
        <label key={key} className="day">
          <span>{words.jobs[key]}</span>
          <input
            className="input"
            type="date"
            value={days[key] ?? ''}
            onChange={event => set(key, event.target.value)}
          />
        </label>
      ))}
      {(['name', 'tag'] as const).map(
        key =>
          filter[key] && (
            <Button key={key} tight onClick={() => set(key, null)}>
              {words.jobs[key]}: {filter[key]}
              <Icon name="close" size={10} />
            </Button>
          ),
      )}
      <label className="check">
        <input type="checkbox" checked={grouped} onChange={event => setGrouped(event.target.checked)} />
        {words.jobs.group}
      </label>
      {clear && (
        <Button look="plain" tight onClick={clear}>
          {words.jobs.clear}
        </Button>
      )}
    </search>
  )
}

function NodeFilter({ node, set }: { node: string; set: Props['set'] }) {
  const words = useWords()
  const nodes = useQuery(queries.nodes())
  const names = new Set([...(nodes.data ?? []).map(it => it.name), ...(node ? [node] : [])])
  if (names.size < 2) return null
  return (
    <select
      className="select"
      aria-label={words.jobs.node}
      value={node}
      onChange={event => set('node', event.target.value)}
    >
      <option value="">{words.jobs.anyNode}</option>
      {[...names].map(name => (
        <option key={name}>{name}</option>
      ))}
    </select>
  )
}

/** Asks once the typing pauses, and shows at once what is typed. */
function Search({ value, change, label }: { value: string; change: (text: string) => void; label: string }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing starts the clock
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => change(text), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text])
  return <SearchInput label={label} text={text} change={setText} />
}
