import { useCallback } from 'react'
import { useSearchParams } from './useSearchParams.ts'

/** What was chosen on a page stands in its address, so that it can be sent to somebody. What is empty is left out. */
export function useChoices() {
  const [search, setSearch] = useSearchParams()
  const choose = useCallback(
    (choices: Record<string, string | null>) =>
      setSearch(
        old => {
          const next = new URLSearchParams(old)
          for (const [key, value] of Object.entries(choices)) {
            if (value) next.set(key, value)
            else next.delete(key)
          }
          return next
        },
        { replace: true },
      ),
    [setSearch],
  )
  return [search, choose] as const
}
