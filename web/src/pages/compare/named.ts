import type { ComparedRow, RowKind } from '../../api/compare.ts'
import type { Words } from '../../words/en.ts'

/** Kinds whose rows the server names; the names of the others are people's own. */
const OURS: ReadonlySet<RowKind> = new Set(['code', 'input', 'resources', 'setting', 'duration', 'usage', 'ending'])

/** A row's name in the language of the page: `worker memory` has a role's name before ours. */
export function rowName({ kind, name }: ComparedRow, words: Words): string {
  const { named } = words.compare
  if (!OURS.has(kind)) return name
  const [first = '', ...rest] = name.split(' ')
  const known = named[rest.join(' ')]
  return named[name] ?? (known ? `${first} ${known}` : name)
}

export function rowValue({ kind }: ComparedRow, value: string, words: Words): string {
  if (kind === 'ending') return words.states[value as keyof typeof words.states] ?? value
  return kind === 'code' ? (words.compare.named[value] ?? value) : value
}
