import { type ReactNode, useState } from 'react'
import { Button } from '../../ui/Button.tsx'
import { Wrong } from '../../ui/Field.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { useWords } from '../../words/index.tsx'
import type { Row } from './pro.ts'

interface Props {
  label: string
  /** The name of each field of a row. */
  fields: string[]
  rows: Row[]
  change: (rows: Row[]) => void
  /** What is wrong with one of them, in words. */
  wrong?: string | undefined
  /** Whether what stands behind a name is more than a text, and only shown. */
  isFixed?: (name: string) => boolean
  /** What helps to fill in the last field of a row. */
  beside?: (label: string, value: string, change: (value: string) => void) => ReactNode
}

/** Rows of fields, with one more at the end for the next. A row without its first field is not yet said. */
export function RowsField({ label, fields, rows: given, change, wrong, isFixed = () => false, beside }: Props) {
  const words = useWords()
  const [rows, setRows] = useState(given)
  const set = (next: Row[]) => {
    setRows(next)
    change(next)
  }
  const write = (row: number, field: number, text: string) =>
    set(rows.map((it, index) => (index === row ? it.map((old, at) => (at === field ? text : old)) : it)))
  return (
    <fieldset className="rows-field whole">
      <legend className="label">{label}</legend>
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place until it is removed
        <div className="row" key={index}>
          {fields.map((field, at) => (
            <input
              key={field}
              className="input"
              aria-label={words.app.about(`${label} ${index + 1}`, field)}
              placeholder={field}
              {...(at > 0 && isFixed(row[0] ?? '') && { readOnly: true, title: words.create.inFile })}
              value={row[at] ?? ''}
              onChange={event => write(index, at, event.target.value)}
            />
          ))}
          {!isFixed(row[0] ?? '') &&
            beside?.(`${label} ${index + 1}`, row[fields.length - 1] ?? '', text =>
              write(index, fields.length - 1, text),
            )}
          <Button
            look="plain"
            tight
            aria-label={words.app.about(`${label} ${index + 1}`, words.create.removeRow)}
            onClick={() => set(rows.filter((_, it) => it !== index))}
          >
            <Icon name="close" size={12} />
          </Button>
        </div>
      ))}
      {wrong && <Wrong text={wrong} />}
      <Button
        tight
        aria-label={words.app.about(label, words.create.addRow)}
        onClick={() => setRows([...rows, fields.map(() => '')])}
      >
        <Icon name="create" size={12} />
        {words.create.addRow}
      </Button>
    </fieldset>
  )
}
