// A job file that is being written. Its text is the only truth: the form reads fields from it and writes fields into it,
// so what the form does not know, comments among it, survives going back and forth.
import { type Document, isMap, isScalar, parseDocument, type Scalar } from 'yaml'

export type Path = (string | number)[]

export interface Draft {
  text: string
  document: Document
}

/** Keys that other systems' files begin with. */
const FOREIGN = ['protocolVersion', 'protocol_version', 'jobName', 'taskRoles', 'worker', 'hyperparams']

/** Whether the form can show it: it parses, and is a map that is not of another system. Nobody else's has `roles`. */
export function isOurs({ document }: Draft): boolean {
  if (document.errors.length > 0 || !isMap(document.contents)) return false
  return document.has('roles') || !FOREIGN.some(key => document.has(key))
}

/** Whether an algorithm brings what runs: then the job has no command of its own. */
export const usesAlgorithm = ({ document }: Draft): boolean => document.has('algorithm')

export function draftOf(text: string): Draft {
  return { text, document: parseDocument(text) }
}

export function newDraft(): Draft {
  return draftOf('name: ""\nroles:\n  worker:\n    command: ""\n')
}

const EMPTY = [undefined, null, '']

/** Sets a field, or takes it out if there is nothing to say; maps that are empty then go too. */
export function setField(draft: Draft, path: Path, value: unknown): Draft {
  const document = draft.document.clone() as Document
  if (!EMPTY.includes(value as null)) writeField(document, path, value)
  else if (path.length === 1 || document.hasIn(path)) removeField(document, path)
  return written(document)
}

export const written = (document: Document): Draft => ({
  document,
  text: document.toString({ lineWidth: 0, flowCollectionPadding: false }),
})

/** What stands behind a value, such as a remark, stays there when the value changes. */
function writeField(document: Document, path: Path, value: unknown) {
  const found = document.getIn(path, true)
  const isPlain = typeof value !== 'object' && isScalar(found)
  if (isPlain) rewrite(found, value)
  else document.setIn(path, document.createNode(value))
}

export function rewrite(scalar: Scalar, value: unknown) {
  if (scalar.value === value) return
  scalar.value = value
  // How the old number was spelt says nothing about the new one.
  delete scalar.format
  delete scalar.minFractionDigits
  delete scalar.source
}

export function removeField(document: Document, path: Path) {
  document.deleteIn(path)
  const above = path.slice(0, -1)
  const parent = above.length > 0 ? document.getIn(above) : null
  if (isMap(parent) && parent.items.length === 0) removeField(document, above)
}

export function fieldOf(draft: Draft, path: Path): unknown {
  const found = draft.document.getIn(path)
  return found !== null && typeof found === 'object' && 'toJSON' in found
    ? (found as { toJSON: () => unknown }).toJSON()
    : found
}

export const textOf = (draft: Draft, path: Path): string => {
  const found = fieldOf(draft, path)
  return found === undefined || found === null || typeof found === 'object' ? '' : String(found)
}

/** Whether there is more to a field than a text: the form shows it and leaves it to the file. */
export const hasMore = (draft: Draft, path: Path): boolean => {
  const found = fieldOf(draft, path)
  return typeof found === 'object' && found !== null
}

/** A place in the file as the server spells it: `roles.worker.env."A B"`. */
export const spelt = (path: Path): string =>
  path.map(key => (/^[\w~-]+$/.test(String(key)) ? key : `"${key}"`)).join('.')
