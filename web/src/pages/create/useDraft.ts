import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { whenAway } from '../../api/again.ts'
import * as queries from '../../api/queries.ts'
import { forgetDraft, keepDraft, readDraft } from '../../drafts.ts'
import { begin } from './begin.ts'
import { type Beginning, keyOf } from './beginning.ts'
import { type Draft, draftOf } from './draft.ts'
import { withoutSecrets } from './kept.ts'

/** The draft that belongs to a beginning: what was written of it in this tab, or what it begins with. */
export function useDraft(beginning: Beginning) {
  const key = keyOf(beginning)
  const [kept] = useState(() => readDraft(key))
  const [written, write] = useState<Draft | null>(() => (kept === null ? null : draftOf(kept)))
  const [suggested, suggest] = useState<Draft | null>(null)
  const [isContinued, setContinued] = useState(kept !== null)
  /** Another number whenever all of it was replaced: fields that remember something begin anew. */
  const [generation, setGeneration] = useState(0)
  const { from } = beginning
  const former = useQuery({
    ...queries.job(from ?? ''),
    enabled: from !== undefined,
    refetchInterval: whenAway,
    staleTime: Number.POSITIVE_INFINITY,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all of a beginning
  const begun = useMemo(() => begin(beginning, former.data), [key, former.data])

  useEffect(() => {
    if (written === null) return
    const text = withoutSecrets(written.text)
    if (text === null) forgetDraft(key)
    else keepDraft(key, text)
  }, [key, written])

  const renew = () => setGeneration(old => old + 1)
  return {
    draft: written ?? suggested ?? begun,
    former,
    generation,
    isContinued,
    setDraft: write,
    /** What nobody has written is not kept. */
    suggest: (draft: Draft) => (written === null ? suggest(draft) : write(draft)),
    replace: (draft: Draft) => {
      write(draft)
      renew()
    },
    forget: () => forgetDraft(key),
    startOver: () => {
      forgetDraft(key)
      write(null)
      suggest(null)
      setContinued(false)
      renew()
    },
  }
}
