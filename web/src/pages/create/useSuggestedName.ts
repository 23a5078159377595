import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { whenAway } from '../../api/again.ts'
import * as queries from '../../api/queries.ts'
import { type Draft, textOf } from './draft.ts'
import { setName } from './simple.ts'
import { suggestedName } from './suggest.ts'

/** A name that was last used so long ago that as many jobs came after it is as good as free. */
const LOOKED_AT = 500

/** Fills in the name for as long as nobody has written one. Whoever empties the field has it empty. */
export function useSuggestedName(draft: Draft, setDraft: (draft: Draft) => void, isWanted: boolean, after?: string) {
  const { data: about } = useQuery(queries.about())
  const mine = queries.jobs({ owner: about?.user ?? '', limit: LOOKED_AT })
  const { data } = useQuery({ ...mine, enabled: isWanted && about !== undefined, refetchInterval: whenAway })
  const suggested = useRef('')
  const written = textOf(draft, ['name'])
  const name =
    data && isWanted ? suggestedName(draft, new Set([...data.jobs.map(job => job.name), after ?? '']), after) : null
  useEffect(() => {
    if (name === null || written !== suggested.current || written === name) return
    suggested.current = name
    setDraft(setName(draft, name))
  }, [name, written, draft, setDraft])
}
