// What may stand at a place of the job file, read off its JSON Schema.

export interface Schema {
  $ref?: string
  $defs?: Record<string, Schema>
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  description?: string
  type?: string | string[]
}

const DEPTH_MAX = 8

/** Every alternative of a schema, with references looked up. */
function alternatives(root: Schema, schema: Schema, depth = 0): Schema[] {
  if (depth > DEPTH_MAX) return []
  const referred = schema.$ref ? root.$defs?.[schema.$ref.split('/').at(-1) ?? ''] : undefined
  const inner = [referred, ...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])]
  return [schema, ...inner.flatMap(it => (it ? alternatives(root, it, depth + 1) : []))]
}

/** The schemas that hold at a path such as `roles`, `worker`, `cpus`. */
export function schemasAt(root: Schema, path: string[]): Schema[] {
  let here = alternatives(root, root)
  for (const key of path) {
    const below = here.flatMap(it => {
      const more = typeof it.additionalProperties === 'object' ? it.additionalProperties : undefined
      const found = it.properties?.[key] ?? more
      return found ? [found] : []
    })
    here = below.flatMap(it => alternatives(root, it))
  }
  return here
}

export interface Offer {
  label: string
  detail?: string
  info?: string
}

export function keysAt(root: Schema, path: string[]): Offer[] {
  const found = new Map<string, Offer>()
  for (const schema of schemasAt(root, path)) {
    for (const [label, { description }] of Object.entries(schema.properties ?? {})) {
      if (!found.has(label)) found.set(label, { label, ...(description && { info: description }) })
    }
  }
  return [...found.values()]
}

export function valuesAt(root: Schema, path: string[]): Offer[] {
  const schemas = schemasAt(root, path)
  const values = schemas.flatMap(it => [...(it.enum ?? []), ...(it.const === undefined ? [] : [it.const])])
  const truths = schemas.some(it => it.type === 'boolean') ? ['true', 'false'] : []
  return [...new Set([...values.map(String), ...truths])].map(label => ({ label }))
}

/** Which keys a line of YAML stands below, by how far lines are set in. */
export function pathAtLine(lines: string[], line: number): string[] {
  const indent = (text: string) => text.length - text.trimStart().length
  const path: string[] = []
  let depth = indent(lines[line] ?? '')
  for (let at = line - 1; at >= 0 && depth > 0; at -= 1) {
    const text = lines[at] ?? ''
    const key = /^\s*(?:- )?([\w.-]+)\s*:/.exec(text)?.[1]
    if (key === undefined || indent(text) >= depth) continue
    path.unshift(key)
    depth = indent(text)
  }
  return path
}
