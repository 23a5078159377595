import type { JobFilter, Sort } from '../../api/queries.ts'
import { useSearchParams } from '../../useSearchParams.ts'

const KEYS = ['state', 'name', 'tag', 'owner', 'q', 'node', 'cursor'] as const
const SORTS: Sort[] = ['newest', 'oldest', 'name', '-name']
/** Days as people write them, in their own zone. */
const DAYS = ['since', 'until'] as const
export type FilterKey = (typeof KEYS)[number] | (typeof DAYS)[number] | 'sort'

export const PAGE_SIZE = 50

/** What the list shows stands in the address, so that it can be sent to someone, and Back goes back. */
export function useFilter() {
  const [search, setSearch] = useSearchParams()
  const given = Object.fromEntries(KEYS.flatMap(key => (search.get(key) ? [[key, search.get(key)]] : []))) as JobFilter
  const [since, until] = DAYS.map(key => search.get(key) ?? '')
  const sort = SORTS.find(it => it === search.get('sort'))
  const filter: JobFilter = {
    ...given,
    ...(sort && { sort }),
    ...moments(since, until),
    limit: PAGE_SIZE,
  }
  const set = (key: FilterKey, value: string | null) =>
    setSearch(
      old => {
        const next = new URLSearchParams(old)
        if (value) next.set(key, value)
        else next.delete(key)
        // Another question begins with its first page.
        if (key !== 'cursor') next.delete('cursor')
        return next
      },
      { replace: key === 'q' },
    )
  const grouped = search.get('versions') === 'grouped'
  const setGrouped = (on: boolean) =>
    setSearch(old => {
      const next = new URLSearchParams(old)
      if (on) next.set('versions', 'grouped')
      else next.delete('versions')
      return next
    })
  const clear = () => setSearch(new URLSearchParams(grouped ? { versions: 'grouped' } : {}))
  const isFiltered = KEYS.some(key => key !== 'cursor' && filter[key] !== undefined) || Boolean(since || until)
  return { filter, days: { since, until }, set, clear, isFiltered, grouped, setGrouped }
}

/** From the beginning of one day to the end of another. */
function moments(since: string | undefined, until: string | undefined): Pick<JobFilter, 'since_ms' | 'until_ms'> {
  const [from, to] = [new Date(`${since}T00:00:00`).getTime(), new Date(`${until}T00:00:00`)]
  // The next midnight is not always a day of 24 hours away.
  const end = to.setDate(to.getDate() + 1)
  return { ...(from >= 0 && { since_ms: from }), ...(end >= 0 && { until_ms: end }) }
}

export type Days = ReturnType<typeof useFilter>['days']
