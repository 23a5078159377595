import { TextField } from '../../ui/Field.tsx'
import { type Draft, type Path, setField, textOf } from './draft.ts'
import { numberOrWord } from './pro.ts'

/** A job file, the way to write it, and what is wrong with each of its fields. */
export interface Put {
  draft: Draft
  setDraft: (draft: Draft) => void
  said: (path: string) => string | undefined
}

interface Props {
  put: Put
  label: string
  at: Path
  help?: string
  placeholder?: string
  isNumber?: boolean
}

/** One field of the file. */
export function TextAt({ put: { draft, setDraft, said }, label, at, help, placeholder, isNumber }: Props) {
  const text = textOf(draft, at)
  return (
    <TextField
      label={label}
      help={help}
      placeholder={placeholder}
      value={text}
      wrong={text === '' ? null : said(at.join('.'))}
      onChange={event =>
        setDraft(setField(draft, at, isNumber ? numberOrWord(event.target.value) : event.target.value))
      }
    />
  )
}
