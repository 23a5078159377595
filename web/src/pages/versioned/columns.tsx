// The columns that lists of algorithms and of datasets have alike.
import type { Column } from '../../ui/list.ts'
import { Ago } from '../../ui/Time.tsx'
import type { Words } from '../../words/en.ts'
import type { Kind, Versioned } from './kinds.ts'

type Said = Words[Kind]

export const descriptionIn = (w: Said): Column<Versioned> => ({
  key: 'description',
  title: w.description,
  isLong: true,
  cell: row => row.description,
})

export const madeByIn = (w: Said): Column<Versioned> => ({
  key: 'by',
  title: w.madeBy,
  cell: row => row.latest?.made_by,
  by: row => row.latest?.made_by ?? '',
})

/** When its newest version was made, or it itself where there is none. */
export const madeIn = (w: Said): Column<Versioned> => ({
  key: 'made',
  title: w.made,
  cell: row => <Ago at={madeAt(row)} />,
  by: madeAt,
})

const madeAt = (row: Versioned): number => row.latest?.created_at_ms ?? row.created_at_ms
