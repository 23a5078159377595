import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { Link } from 'wouter'
import * as algorithms from '../../api/algorithms.ts'
import { paths } from '../../paths.ts'
import { Button } from '../../ui/Button.tsx'
import { TextField } from '../../ui/Field.tsx'
import { useToasts } from '../../ui/Toasts.tsx'
import { useWords } from '../../words/index.tsx'
import { PickAlgorithm } from '../pick/PickAlgorithm.tsx'
import { versionedOf } from '../pick/place.ts'
import { algorithmOf, withAlgorithm, withoutAlgorithm } from './algorithm.ts'
import { type Draft, hasMore, usesAlgorithm } from './draft.ts'
import { InFile } from './InFile.tsx'
import type { Put } from './put.ts'

/** Which algorithm the job uses, if any. It is picked, and not typed: a name that is half there would be another form. */
export function AlgorithmField({ put }: { put: Put }) {
  const { pick: w } = useWords()
  const { draft, setDraft, said } = put
  const client = useQueryClient()
  const { tellError } = useToasts()
  const [isOpen, setOpen] = useState(false)
  const former = useRef<Draft | null>(null)
  const take = async (name: string) => {
    setOpen(false)
    const named = versionedOf(name)
    if (!named) return
    try {
      const { document } = await client.fetchQuery(algorithms.algorithmVersion(named.name, named.version))
      if (!usesAlgorithm(draft)) former.current = draft
      setDraft(withAlgorithm(draft, name, document))
    } catch (error) {
      tellError(error)
    }
  }
  if (hasMore(draft, ['algorithm'])) return <InFile put={put} label={w.algorithm} at={['algorithm']} />
  const uses = usesAlgorithm(draft)
  const buttons = (
    <>
      <Button onClick={() => setOpen(true)}>{w.algorithmChoose}</Button>
      {uses && <Button onClick={() => setDraft(withoutAlgorithm(draft, former.current))}>{w.algorithmRemove}</Button>}
    </>
  )
  return (
    <div className="whole">
      <TextField
        label={w.algorithm}
        readOnly
        value={uses ? algorithmOf(draft) : w.algorithmNone}
        wrong={said(['algorithm'])}
        help={uses ? <About name={algorithmOf(draft)} /> : w.algorithmHelp}
        beside={buttons}
      />
      {isOpen && <PickAlgorithm value={algorithmOf(draft)} pick={take} onClose={() => setOpen(false)} />}
    </div>
  )
}

/** What somebody wrote about it, and the way to its page. */
function About({ name }: { name: string }) {
  const { pick: w } = useWords()
  const named = versionedOf(name)
  if (!named) return null
  const version = named.version === 'latest' ? '' : named.version
  return (
    <Link href={paths.algorithm(named.name, version)} target="_blank">
      {w.algorithmOpen}
    </Link>
  )
}
