import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { label } from '../../api/queries.ts'
import { paths } from '../../paths.ts'
import { Confirm } from '../../ui/Confirm.tsx'
import { useToasts } from '../../ui/Toasts.tsx'
import { useChoices } from '../../useChoices.ts'
import { useWords } from '../../words/index.tsx'
import { KINDS, type Kind } from './kinds.ts'

interface Forgetting {
  /** Asks whether this is meant, and forgets one version, or all of them. */
  ask: (going: number | 'all') => void
  dialog: ReactNode
}

export function useForgetting(kind: Kind, name: string): Forgetting {
  const { [kind]: w } = useWords()
  const [going, ask] = useState<number | 'all' | null>(null)
  const perform = usePerform(kind, name)
  if (going === null) return { ask, dialog: null }
  const dialog = (
    <Confirm
      title={w.forgetTitle(going === 'all' ? name : label({ name, version: going }))}
      hint={going === 'all' ? w.forgetAllHint : w.forgetVersionHint}
      yes={w.forget}
      onYes={() => perform(going)}
      onClose={() => ask(null)}
    />
  )
  return { ask, dialog }
}

function usePerform(kind: Kind, name: string) {
  const { [kind]: w } = useWords()
  const client = useQueryClient()
  const { tell, tellError } = useToasts()
  const [search] = useChoices()
  const [, go] = useLocation()
  const { forget, forgetVersion, pathOf } = KINDS[kind]
  // What is looked at is left when it goes, and nobody comes back to it.
  const leaveFor = (path: string) => go(path, { replace: true })
  return async (going: number | 'all') => {
    try {
      if (going === 'all') {
        await forget(name)
        tell(w.forgotten(name))
        leaveFor(paths[kind])
      } else {
        await forgetVersion(name, going)
        tell(w.forgotten(label({ name, version: going })))
        if (search.get('version') === String(going)) leaveFor(pathOf(name))
      }
      await client.invalidateQueries({ queryKey: [kind] })
    } catch (error) {
      tellError(error)
    }
  }
}
