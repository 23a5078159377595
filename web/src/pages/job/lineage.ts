import type { Lineage, LineageNode } from '../../api/compare.ts'

/** Back to what it is made of, or forward to what it went into. */
export type Way = 'back' | 'forward'

export interface Branch {
  node: LineageNode
  how: string
  branches: Branch[]
  /** It stands further up with all that is behind it. */
  isAgain: boolean
}

/** What goes on from the job in one direction. Things may lead back to each other, so none is followed twice. */
export function branches(lineage: Lineage, way: Way): Branch[] {
  const [here, there] = way === 'back' ? (['to', 'from'] as const) : (['from', 'to'] as const)
  const nodes = new Map(lineage.nodes.map(node => [node.id, node]))
  const seen = new Set([lineage.job])
  const from = (id: string): Branch[] =>
    lineage.edges
      .filter(edge => edge[here] === id)
      .flatMap(edge => {
        const node = nodes.get(edge[there])
        if (!node) return []
        const isAgain = seen.has(node.id)
        seen.add(node.id)
        return [{ node, how: edge.how, isAgain, branches: isAgain ? [] : from(node.id) }]
      })
  return from(lineage.job)
}
