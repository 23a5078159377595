import { type ReactNode, useId } from 'react'
import { type Column, sorted } from './list.ts'
import { SortHead } from './SortHead.tsx'
import './list.css'

interface Sorting {
  sort: string
  setSort: (sort: string) => void
}

interface Props<Row> {
  /** The first of them names the row. */
  columns: Column<Row>[]
  rows: Row[]
  keyOf: (row: Row) => string
  /** For lists whose order can be chosen. */
  sorting?: Sorting
  /** Whether a row is the one that is looked at, or picked. */
  isSelected?: (row: Row) => boolean
  /** For lists that one row is picked from. */
  picking?: { label: (row: Row) => string; pick: (row: Row) => void }
  /** What can be done with a row, and what that column is called. */
  ends?: { title: string; of: (row: Row) => ReactNode }
}

export function ListTable<Row>({ columns, rows, keyOf, sorting, isSelected, picking, ends }: Props<Row>) {
  const group = useId()
  return (
    <div className="table-box">
      <table className="list">
        <thead>
          <tr>
            {picking && <td className="pick" />}
            {columns.map(it => (
              <Head key={it.key} column={it} sorting={sorting} />
            ))}
            {ends && (
              <th className="row-ends">
                <span className="unseen">{ends.title}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {sorted(rows, columns, sorting?.sort ?? '').map(row => (
            <tr key={keyOf(row)} aria-selected={isSelected?.(row)}>
              {picking && (
                <td className="pick">
                  <input
                    type="radio"
                    name={group}
                    aria-label={picking.label(row)}
                    checked={isSelected?.(row) ?? false}
                    onChange={() => picking.pick(row)}
                  />
                </td>
              )}
              {columns.map((it, index) => (
                <Cell key={it.key} column={it} row={row} isName={index === 0} />
              ))}
              {ends && <td className="row-ends">{ends.of(row)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface HeadProps<Row> {
  column: Column<Row>
  sorting: Sorting | undefined
}

function Head<Row>({ column: { key, title, isNumber = false, by }, sorting }: HeadProps<Row>) {
  if (!by || !sorting) return <th className={isNumber ? 'number' : undefined}>{title}</th>
  return <SortHead label={title} up={key} down={`-${key}`} {...sorting} isNumber={isNumber} />
}

function Cell<Row>({ column, row, isName }: { column: Column<Row>; row: Row; isName: boolean }) {
  if (isName) return <th scope="row">{column.cell(row)}</th>
  const look = column.isNumber ? 'number nowrap' : column.isLong ? 'about' : undefined
  return <td className={look}>{column.cell(row)}</td>
}
