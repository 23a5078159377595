import { useSearchParams } from '../../useSearchParams.ts'

export const DOORS = ['simple', 'pro', 'file'] as const
export type Door = (typeof DOORS)[number]

/** Which of the doors into the draft is open; it stands in the address. */
export function useDoor(): [Door, (next: Door) => void] {
  const [search, setSearch] = useSearchParams()
  const door = DOORS.find(it => it === search.get('door')) ?? 'simple'
  const go = (next: Door) =>
    setSearch(old => {
      const params = new URLSearchParams(old)
      params.set('door', next)
      return params
    })
  return [door, go]
}
