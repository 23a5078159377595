import { TextField } from '../../ui/Field.tsx'
import { hasMore, type Path, setField, textOf } from './draft.ts'
import { InFile } from './InFile.tsx'
import { numberOrWord } from './pro.ts'
import type { Put } from './put.ts'

interface Props {
  put: Put
  label: string
  at: Path
  help?: string
  placeholder?: string
  isNumber?: boolean
}

/** One field of the file. */
export function TextAt({ put, label, at, help, placeholder, isNumber }: Props) {
  const { draft, setDraft, said } = put
  const text = textOf(draft, at)
  if (hasMore(draft, at)) return <InFile put={put} label={label} at={at} />
  return (
    <TextField
      label={label}
      help={help}
      placeholder={placeholder}
      value={text}
      wrong={text === '' ? null : said(at)}
      onChange={event =>
        setDraft(setField(draft, at, isNumber ? numberOrWord(event.target.value) : event.target.value))
      }
    />
  )
}
