// What a job names of that which has versions: its algorithm, and the datasets it reads.
import { type Versioned, versionedOf } from '../pick/place.ts'

type Map = Record<string, unknown>
const isMap = (value: unknown): value is Map => typeof value === 'object' && value !== null && !Array.isArray(value)

/** An input is a place, or a map that has it under `from`. */
const placeIn = (input: unknown): string => String((isMap(input) ? input.from : input) ?? '')

export const algorithmIn = (spec: unknown): Versioned | null =>
  isMap(spec) && typeof spec.algorithm === 'string' ? versionedOf(spec.algorithm) : null

/** Each of them once. */
export function datasetsIn(spec: unknown): Versioned[] {
  if (!isMap(spec)) return []
  const inputs = [spec.input, ...(isMap(spec.inputs) ? Object.values(spec.inputs) : [])]
  const names = new Set(inputs.map(placeIn))
  return [...names].flatMap(name => versionedOf(name) ?? [])
}
