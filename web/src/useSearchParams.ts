import { useCallback, useMemo } from 'react'
import { type SetSearchParams, useLocation } from 'wouter'
import { useSearch } from 'wouter/use-browser-location'

/** What stands behind the `?` of the address. The router's own hook decodes it twice, and then a file called `%41` is none. */
export function useSearchParams(): [URLSearchParams, SetSearchParams] {
  const search = useSearch()
  const [, go] = useLocation()
  const params = useMemo(() => new URLSearchParams(search), [search])
  const set = useCallback<SetSearchParams>(
    (next, options) => {
      // As it is now: several things may be chosen before the page is drawn again.
      const made = new URLSearchParams(
        typeof next === 'function' ? next(new URLSearchParams(location.search)) : next,
      ).toString()
      go(location.pathname + (made && `?${made}`), options)
    },
    [go],
  )
  return [params, set]
}
