import { TextField } from '../../ui/Field.tsx'
import { type Draft, hasMore, type Path, setField, textOf } from './draft.ts'
import { InFile } from './InFile.tsx'
import { numberOrWord } from './pro.ts'
import type { Put } from './put.ts'

interface Around {
  put: Put
  label: string
  at: Path
  help?: string
  placeholder?: string
}

interface Text extends Around {
  text: string
  set: (text: string) => Draft
  /** Whether there is more to it than a text, which is for the file alone to change. */
  isMore: boolean
  wrong: string | null | undefined
}

/** A text of the job file. Of one that is empty nothing is wrong yet. */
export function ProText({ put, label, at, text, set, isMore, wrong, ...around }: Text) {
  if (isMore) return <InFile put={put} label={label} at={at} />
  return (
    <TextField
      label={label}
      {...around}
      value={text}
      wrong={text === '' ? null : wrong}
      onChange={event => put.setDraft(set(event.target.value))}
    />
  )
}

/** The text that stands at one place of the file. */
export function TextAt({ isNumber = false, ...around }: Around & { isNumber?: boolean }) {
  const { at, put } = around
  const set = (text: string) => setField(put.draft, at, isNumber ? numberOrWord(text) : text)
  return (
    <ProText {...around} text={textOf(put.draft, at)} set={set} isMore={hasMore(put.draft, at)} wrong={put.said(at)} />
  )
}
