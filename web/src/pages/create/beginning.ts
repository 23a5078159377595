// What a new job begins with: nothing, a framework, an algorithm, data, or another job.
import { type Draft, draftOf, newDraft, setField } from './draft.ts'
import { setFramework } from './simple.ts'

/** Again as its next version, as a job with a name of its own, or going on with what it put out. */
const WAYS = ['again', 'clone', 'continue'] as const
export type Way = (typeof WAYS)[number]

export interface Beginning {
  from: string | undefined
  way: Way
  framework: string
  /** A version of an algorithm that it uses: `mnist-mlp@2`. */
  algorithm: string
  /** What it reads: `mnist@3`. */
  input: string
}

/** It stands in the address. */
export const beginningOf = (search: URLSearchParams): Beginning => ({
  from: search.get('from') ?? undefined,
  way: WAYS.find(it => it === search.get('as')) ?? 'again',
  framework: search.get('framework') ?? '',
  algorithm: search.get('algorithm') ?? '',
  input: search.get('input') ?? '',
})

/** Two that began differently are two drafts, and one is not written over the other. */
export function keyOf({ from, way, framework, algorithm, input }: Beginning): string {
  if (from) return `${way} ${from}`
  const parts = [framework && `with ${framework}`, algorithm && `by ${algorithm}`, input && `of ${input}`]
  return parts.filter(Boolean).join(' ')
}

/** For a job that none came before. */
export function anew({ framework, algorithm, input }: Beginning): Draft {
  if (algorithm) return setField(draftOf('name: ""\n'), ['algorithm'], algorithm)
  const plain = framework ? setFramework(newDraft(), framework) : newDraft()
  return setField(plain, ['input'], input)
}
