// Which rows of a list are shown, and in which order.
import type { ReactNode } from 'react'

export interface Column<Row> {
  key: string
  title: string
  isNumber?: boolean
  /** A text of any length, which is given room. */
  isLong?: boolean
  cell: (row: Row) => ReactNode
  /** What the rows can be sorted by. */
  by?: (row: Row) => string | number
}

/** The rows that have every word of a text somewhere in theirs. */
export function found<Row>(rows: Row[], text: string, wordsOf: (row: Row) => string): Row[] {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean)
  return rows.filter(row => {
    const has = wordsOf(row).toLowerCase()
    return wanted.every(word => has.includes(word))
  })
}

/** By a column, such as `name`, or the other way round: `-name`. What is not known sorts nothing. */
export function sorted<Row>(rows: Row[], columns: Column<Row>[], sort: string): Row[] {
  const by = columns.find(it => it.key === sort.replace(/^-/, ''))?.by
  if (!by) return rows
  const way = sort.startsWith('-') ? -1 : 1
  return [...rows].sort((a, b) => way * compared(by(a), by(b)))
}

const compared = (a: string | number, b: string | number): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b))
