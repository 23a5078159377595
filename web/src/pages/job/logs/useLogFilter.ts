import type { Wanted } from '../../../logs/useReel.ts'
import { useSearchParams } from '../../../useSearchParams.ts'

export const COUNTS = [100, 1_000, 10_000, 100_000]
const COUNT_DEFAULT = 1_000
const SECOND_MS = 1000

export type Switch = 'wrap' | 'times' | 'lanes' | 'regex' | 'case'
export type Key = Switch | 'task' | 'lines' | 'find' | 'since' | 'until' | 'stream' | 'attempt'
type Stream = NonNullable<Wanted['stream']>
const STREAMS: Stream[] = ['stdout', 'stderr', 'platform']

/** What the log shows stands in the address, so that it can be sent to someone who then sees the same lines. */
export function useLogFilter() {
  const [search, setSearch] = useSearchParams()
  const set = (key: Key, value: string) =>
    setSearch(
      old => {
        const next = new URLSearchParams(old)
        if (value) next.set(key, value)
        else next.delete(key)
        return next
      },
      { replace: true },
    )
  const number = (key: Key) => (/^\d+$/.test(search.get(key) ?? '') ? Number(search.get(key)) : undefined)
  const find = search.get('find') ?? ''
  const [since, until] = [number('since'), number('until')]
  const stream = STREAMS.find(it => it === search.get('stream'))
  const attempt = search.get('attempt') ?? ''
  const tasks = search.get('task')?.split(',').filter(Boolean) ?? []
  const wanted: Wanted = {
    ...(tasks.length > 0 && { task: tasks.join(',') }),
    ...(attempt && { attempt }),
    ...(stream && { stream }),
    ...(since !== undefined && { since_ms: since }),
    // The second that was named is still wanted.
    ...(until !== undefined && { until_ms: until + SECOND_MS }),
    ...(find && { pattern: find, regex: search.get('regex') === '1', ignore_case: search.get('case') !== '1' }),
  }
  const count = search.get('lines') === 'all' ? null : (number('lines') ?? COUNT_DEFAULT)
  const isOn = (key: Switch) => search.get(key) === '1'
  return { wanted, count, tasks, find, since, until, stream, attempt, isOn, set }
}

export type LogFilter = ReturnType<typeof useLogFilter>
