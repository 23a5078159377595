import { PlaceField } from '../pick/PlaceField.tsx'
import { hasMore, type Path, setField, textOf } from './draft.ts'
import { InFile } from './InFile.tsx'
import type { Put } from './put.ts'

interface Props {
  put: Put
  label: string
  at: Path
  help?: string
  placeholder?: string
  noDataset?: string | null
  noPlace?: string | null
  isOutput?: boolean
}

/** A place of data that stands somewhere in the file. */
export function PlaceAt({ put, label, at, ...around }: Props) {
  const { draft, setDraft, saidIn } = put
  if (hasMore(draft, at)) return <InFile put={put} label={label} at={at} />
  return (
    <PlaceField
      {...around}
      label={label}
      value={textOf(draft, at)}
      wrong={saidIn(at)}
      change={text => setDraft(setField(draft, at, text))}
    />
  )
}
