// The form's view of a job that uses an algorithm: what the algorithm brings is not said by the job, and the rest is asked.
import { isMap, type Pair } from 'yaml'
import type { Algorithm, Needs, Param } from '../../api/algorithms.ts'
import { takes } from '../algorithms/told.ts'
import { versionedOf } from '../pick/place.ts'
import { type Draft, fieldOf, type Path, setField, textOf, written } from './draft.ts'
import { pairsAt, type Row, setParams } from './pro.ts'
import { isPrivate, rolesOf, setPrivate } from './simple.ts'

export const algorithmOf = (draft: Draft): string => textOf(draft, ['algorithm'])

/** What an algorithm brings, and a job that uses one may not say. */
const brought = (draft: Draft): Path[] => [
  ...['code', 'framework', 'image', 'requirements', 'setup', 'input'].map(it => [it]),
  ...rolesOf(draft).flatMap(role => ['command', 'image'].map(key => ['roles', role, key])),
]
/** What means one thing to one algorithm and another to the next. */
const MEANT = [['inputs'], ['outputs'], ['params']]

/** The same job with an algorithm. What it read goes to the first channel that takes it. */
export function withAlgorithm(draft: Draft, name: string, document: Algorithm): Draft {
  const input = textOf(draft, ['input'])
  const own = brought(draft).reduce(
    (all, path) => setField(all, path, null),
    isPrivate(draft) ? setPrivate(draft, false) : draft,
  )
  const named = algorithmOf(own) === '' ? insert(own, name) : setField(own, ['algorithm'], name)
  const what = versionedOf(input) ? 'dataset' : 'place'
  const channel = Object.entries(document.inputs ?? {}).find(([, it]) => takes(it, what))?.[0]
  const isFree = channel !== undefined && fieldOf(named, ['inputs', channel]) === undefined
  return input !== '' && isFree ? setField(named, ['inputs', channel], input) : named
}

/** It is what a reader wants to know first, behind the name. */
function insert(draft: Draft, name: string): Draft {
  const document = draft.document.clone() as Draft['document']
  if (isMap(document.contents)) {
    const items = document.contents.items as Pair[]
    const behind = items.findIndex(it => String(it.key) === 'name') + 1
    items.splice(behind, 0, document.createPair('algorithm', name))
  }
  return written(document)
}

/** The same job without one. What it said before it had one comes back. */
export function withoutAlgorithm(draft: Draft, former: Draft | null): Draft {
  const plain = setField(draft, ['algorithm'], null)
  const again = former
    ? [...brought(former), ...MEANT].reduce((all, path) => restored(all, path, former), plain)
    : plain
  return rolesOf(again).length > 0 ? again : withRole(again)
}

const restored = (draft: Draft, path: Path, former: Draft): Draft =>
  setField(draft, path, fieldOf(former, path) ?? null)

/** Without an algorithm there is something to run. */
function withRole(draft: Draft): Draft {
  const document = draft.document.clone() as Draft['document']
  document.setIn(['roles', 'worker'], document.createNode({ command: '' }))
  return written(document)
}

// -- channels

/** The channels that the job names and the algorithm does not have. */
export const strangeChannels = (draft: Draft, kind: 'inputs' | 'outputs', document: Algorithm): string[] =>
  pairsAt(draft, [kind]).flatMap(([name = '']) => (name in (document[kind] ?? {}) ? [] : [name]))

// -- parameters

export const paramAt = (name: string): Path => ['params', name]

/** A value, `null` where the parameter is left out, and nothing where its default holds. */
export function paramOf(draft: Draft, name: string): unknown {
  const all = fieldOf(draft, ['params'])
  return typeof all === 'object' && all !== null ? (all as Record<string, unknown>)[name] : undefined
}

/** Says `null`, which is not the same as saying nothing. */
export function leaveOut(draft: Draft, name: string): Draft {
  const document = draft.document.clone() as Draft['document']
  document.setIn(paramAt(name), document.createNode(null))
  return written(document)
}

/** The parameters that the algorithm does not know, as rows. */
export const customParams = (draft: Draft, document: Algorithm): Row[] =>
  pairsAt(draft, ['params']).filter(([name = '']) => !(name in (document.params ?? {})))

/** Those it knows stay as they are. */
export function setCustomParams(draft: Draft, document: Algorithm, rows: Row[]): Draft {
  const known = pairsAt(draft, ['params']).filter(([name = '']) => name in (document.params ?? {}))
  return setParams(draft, [...known, ...rows])
}

/** Whether the control for its type can show a value. */
export function isShowable({ type }: Param, value: unknown): boolean {
  switch (type) {
    case 'number':
    case 'integer':
      return typeof value === 'number'
    case 'boolean':
      return typeof value === 'boolean'
    case 'text':
      return typeof value !== 'object'
  }
}

// -- secrets

/** Those that its document names, each once. */
export const secretsIn = (document: Algorithm): string[] => {
  const named = JSON.stringify(document).matchAll(/\{\{\s*secrets\.([\w.~-]+)\s*\}\}/g)
  return [...new Set([...named].map(it => it[1] ?? ''))]
}

// -- what it can run on

export const canUse = ({ accelerators }: Needs, kind: string): boolean =>
  !accelerators?.length || accelerators.includes(kind)

/** Whether it may run on CPUs alone. */
export const needsNoCard = (needs: Needs): boolean => canUse(needs, 'none')

/** Whether it may run on anything else. */
export const canUseCards = ({ accelerators, accelerators_max }: Needs): boolean =>
  accelerators_max !== 0 && (!accelerators?.length || accelerators.some(it => it !== 'none'))
