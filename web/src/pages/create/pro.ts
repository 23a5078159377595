// The professional form's view of a job file: every role for itself, and lists as rows of two or three fields.
import { isMap, isScalar, type YAMLMap } from 'yaml'
import { type Draft, fieldOf, hasMore, type Path, rewrite, setField, usesAlgorithm, written } from './draft.ts'
import { rolesOf, setAccelerators } from './simple.ts'

export function renameRole(draft: Draft, from: string, to: string): Draft {
  const document = draft.document.clone() as Draft['document']
  const roles = document.get('roles')
  const pair = isMap(roles) ? roles.items.find(it => (isScalar(it.key) ? it.key.value : it.key) === from) : undefined
  if (!pair || to === '' || rolesOf(draft).includes(to)) return draft
  pair.key = document.createNode(to)
  return written(document)
}

export function addRole(draft: Draft): { draft: Draft; name: string } {
  const taken = rolesOf(draft)
  let number = taken.length + 1
  while (taken.includes(`role${number}`)) number += 1
  const name = `role${number}`
  const document = draft.document.clone() as Draft['document']
  document.setIn(
    ['roles', name],
    document.createNode(usesAlgorithm(draft) ? { tasks: 1 } : { command: 'sleep infinity' }),
  )
  return { draft: written(document), name }
}

export const removeRole = (draft: Draft, role: string): Draft => setField(draft, ['roles', role], null)

export const PRESETS = [
  { accelerators: 1, cpus: 2 },
  { accelerators: 2, cpus: 4 },
  { accelerators: 8, cpus: 16 },
]

export function applyPreset(draft: Draft, role: string, { accelerators, cpus }: (typeof PRESETS)[number]): Draft {
  return setAccelerators(setField(draft, ['roles', role, 'cpus'], cpus), accelerators, role)
}

// -- accelerators: a number of any type, or of one type

export function acceleratorOf(draft: Draft, role: string): { kind: string; count: string } {
  const found = fieldOf(draft, ['roles', role, 'accelerators'])
  if (typeof found !== 'object' || found === null) return { kind: '', count: String(found ?? 0) }
  const [kind = '', count = 0] = Object.entries(found)[0] ?? []
  return { kind, count: String(count) }
}

/** Several types are for the file alone to show. */
export function hasManyKinds(draft: Draft, role: string): boolean {
  const found = fieldOf(draft, ['roles', role, 'accelerators'])
  return typeof found === 'object' && found !== null && Object.keys(found).length > 1
}

export function setAccelerator(draft: Draft, role: string, kind: string, count: number): Draft {
  const value = count === 0 ? null : kind === '' ? count : { [kind]: count }
  return setField(draft, ['roles', role, 'accelerators'], value)
}

// -- tags: words with commas between them

export function tagsOf(draft: Draft): string {
  const found = fieldOf(draft, ['tags'])
  return Array.isArray(found) ? found.join(', ') : typeof found === 'string' ? found : ''
}

/** A comma at the end is on its way to the next one. */
export function setTags(draft: Draft, text: string): Draft {
  const tags = text.split(',').map((tag, index, all) => (index < all.length - 1 ? tag.trim() : tag.trimStart()))
  return setField(draft, ['tags'], tags.length === 1 && tags[0] === '' ? null : tags)
}

// -- rows

export type Row = string[]
type Value = (row: Row) => unknown

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

/** A map as rows of its keys and values. */
export function pairsAt(draft: Draft, path: Path): Row[] {
  const found = fieldOf(draft, path)
  return typeof found === 'object' && found !== null && !Array.isArray(found)
    ? Object.entries(found).map(([key, value]) => [key, shown(value)])
    : []
}

/** Whether the value of a row is more than a text, and for the file alone to change. */
export const isFixed = (draft: Draft, path: Path, key: string): boolean => hasMore(draft, [...path, key])

const named = (rows: Row[]) => rows.filter(row => row[0] !== '')

export const setPairs = (draft: Draft, path: Path, rows: Row[]): Draft =>
  setRows(draft, path, rows, row => row[1] ?? '')

/** Numbers and truths are such, so that a command gets them as they were meant. */
export const setParams = (draft: Draft, rows: Row[]): Draft =>
  setRows(draft, ['params'], rows, ([, text = '']) =>
    text === 'true' || text === 'false' ? text === 'true' : (numberOrWord(text) ?? ''),
  )

/** Writes what is different and leaves alone what is not, its remarks and all that the rows cannot show among it. */
function setRows(draft: Draft, path: Path, rows: Row[], value: Value): Draft {
  const all = named(rows)
  const map = draft.document.getIn(path)
  if (all.length === 0) return setField(draft, path, null)
  if (!isMap(map)) return setField(draft, path, Object.fromEntries(all.map(row => [row[0], value(row)])))
  const document = draft.document.clone() as Draft['document']
  const here = document.getIn(path) as YAMLMap
  renameKeys(document, here, all)
  for (const row of all) {
    const [key = ''] = row
    const old = here.get(key, true)
    const isSame = old !== undefined && shown(here.toJSON()[key]) === shown(value(row))
    const next = value(row)
    if (isSame) continue
    if (isScalar(old) && typeof next !== 'object') rewrite(old, next)
    else here.set(key, document.createNode(next))
  }
  return written(document)
}

/** A key that is gone has become the one that is new in its place; with none new it is taken out. */
function renameKeys(document: Draft['document'], map: YAMLMap, rows: Row[]) {
  const keyOf = (key: unknown) => String(isScalar(key) ? key.value : key)
  const known = new Set(map.items.map(it => keyOf(it.key)))
  const fresh = rows.map(row => row[0] ?? '').filter(key => !known.has(key))
  const gone = map.items.filter(it => !rows.some(row => row[0] === keyOf(it.key)))
  for (const pair of gone) {
    const next = fresh.shift()
    if (next === undefined) map.delete(pair.key)
    else pair.key = document.createNode(next)
  }
}

/** Labels with how many, and from which port on if only certain ones will do. */
export function portsOf(draft: Draft, role: string): Row[] {
  const found = fieldOf(draft, ['roles', role, 'ports'])
  if (Array.isArray(found)) return found.map(label => [String(label), '1', ''])
  if (typeof found !== 'object' || found === null) return []
  return Object.entries(found as Record<string, number | { from: number; count?: number }>).map(([label, value]) =>
    typeof value === 'number' ? [label, String(value), ''] : [label, String(value.count ?? 1), String(value.from)],
  )
}

export function setPorts(draft: Draft, role: string, rows: Row[]): Draft {
  const port: Value = ([, count = '', from = '']) => {
    const many = Math.max(1, Number.parseInt(count, 10) || 1)
    const first = Number.parseInt(from, 10)
    return first > 0 ? { from: first, count: many } : many
  }
  return setRows(draft, ['roles', role, 'ports'], rows, port)
}

/** A number where one was written in full, the word otherwise: `0.` is on its way to `0.5`. */
export const numberOrWord = (text: string): number | string | null =>
  text.trim() === '' ? null : String(Number(text)) === text.trim() ? Number(text) : text.trim()
