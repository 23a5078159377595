import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useState,
  useSyncExternalStore,
} from 'react'
import { type LineState, Live } from './live.ts'

/** A browser has six lines to a server; two that stay open leave enough for the rest. Other jobs are asked now and then. */
const LINES_MAX = 2

type Lives = ReadonlyMap<string, Live>
const Context = createContext<Lives>(new Map())

/** Curves below it grow while their jobs run. Once begun, a job is followed to its end. */
export function Followed({ jobs, children }: { jobs: { id: string; isLive: boolean }[]; children: ReactNode }) {
  const [lives, setLives] = useState<Lives>(new Map())
  const wanted = jobs
    .filter(job => job.isLive || lives.has(job.id))
    .slice(0, LINES_MAX)
    .map(job => job.id)
    .join(' ')
  useEffect(() => {
    const ids = wanted.split(' ').filter(id => id !== '')
    const made = new Map(ids.map(id => [id, new Live(id)]))
    setLives(made)
    return () => {
      for (const live of made.values()) live.close()
    }
  }, [wanted])
  return <Context value={lives}>{children}</Context>
}

export const useLives = (): Lives => useContext(Context)

/** Another number whenever something came of any of them. */
export function useNews(lives: Lives): number {
  const subscribe = useCallback(
    (listener: () => void) => {
      const ends = [...lives.values()].map(live => live.subscribe(listener))
      return () => {
        for (const end of ends) end()
      }
    },
    [lives],
  )
  return useSyncExternalStore(subscribe, () => [...lives.values()].reduce((sum, live) => sum + live.version, 0))
}

/** Whether the line is open; nothing if nothing is followed. */
export function useLineState(): LineState | null {
  const lives = useLives()
  useNews(lives)
  const states = [...lives.values()].map(live => live.line)
  if (states.length === 0) return null
  return states.find(it => it === 'cut') ?? states.find(it => it === 'live') ?? 'ended'
}
