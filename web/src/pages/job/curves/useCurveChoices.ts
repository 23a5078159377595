import { useCallback, useEffect, useMemo, useState } from 'react'
import type { Range } from '../../../charts/line.ts'
import { useChoices } from '../../../useChoices.ts'
import { read } from './choices.ts'

const PAUSE_MS = 250

/** The picture follows the hand at once; the address when the hand rests, for browsers count how often it changes. */
function useSmoothing(kept: number, keep: (value: number) => void) {
  const [hand, setHand] = useState(kept)
  useEffect(() => setHand(kept), [kept])
  useEffect(() => {
    if (hand === kept) return
    const timer = setTimeout(() => keep(hand), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [hand, kept, keep])
  return [hand, setHand] as const
}

/** What was chosen, and how to choose otherwise. */
export function useCurveChoices() {
  const [search, choose] = useChoices()
  const text = search.toString()
  const kept = useMemo(() => read(new URLSearchParams(text)), [text])
  const keep = useCallback((value: number) => choose({ smooth: value > 0 ? String(value) : null }), [choose])
  const [smoothing, setSmoothing] = useSmoothing(kept.smoothing, keep)
  const choices = useMemo(() => ({ ...kept, smoothing }), [kept, smoothing])
  const zoom = useCallback(
    (range: Range | null) =>
      choose({
        from: range && String(Math.floor(range[0])),
        to: range && String(Math.max(Math.ceil(range[1]), Math.floor(range[0]) + 1)),
      }),
    [choose],
  )
  return { choices, choose, zoom, setSmoothing }
}
