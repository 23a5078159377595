import type { Direction } from '../../api/compare.ts'
import { useSearchParams } from '../../useSearchParams.ts'

/** Which jobs stand side by side, and how, stands in the address. */
export function useCompared() {
  const [search, setSearch] = useSearchParams()
  const jobs = (search.get('jobs') ?? '')
    .split(',')
    .map(it => it.trim())
    .filter(it => it !== '')
  const change = (name: string, value: string | null) =>
    setSearch(old => {
      const next = new URLSearchParams(old)
      if (value) next.set(name, value)
      else next.delete(name)
      return next
    })
  const setJobs = (next: string[]) => change('jobs', next.join(','))
  return {
    jobs,
    same: search.get('same') === '1',
    metric: search.get('metric'),
    add: (job: string) => setJobs([...jobs, job]),
    remove: (at: number) => setJobs(jobs.filter((_, index) => index !== at)),
    putFirst: (at: number) => setJobs([jobs[at] ?? '', ...jobs.filter((_, index) => index !== at)]),
    setSame: (on: boolean) => change('same', on ? '1' : null),
    setMetric: (metric: string | null) => change('metric', metric),
  }
}

/** The metrics to ask for, all that are shown, once somebody has said which way one of them is better. */
export function withDirection(
  shown: { name: string; direction: Direction | null; guessed: boolean }[],
  name: string,
  direction: Direction,
): string {
  const way = (it: (typeof shown)[number]) => (it.name === name ? direction : it.guessed ? null : it.direction)
  return shown.map(it => (way(it) ? `${it.name}:${way(it)}` : it.name)).join(',')
}
