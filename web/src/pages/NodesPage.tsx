import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { NodeView } from '../api/queries.ts'
import * as queries from '../api/queries.ts'
import { bytes, cpus, resources } from '../format.ts'
import { paths } from '../paths.ts'
import { Page } from '../Shell.tsx'
import { Gauge } from '../ui/Gauge.tsx'
import { Empty, Trouble } from '../ui/Say.tsx'
import { NodeUse } from '../usage/NodeUse.tsx'
import { useReason, useWords } from '../words/index.tsx'

export default function NodesPage() {
  const words = useWords()
  const nodes = useQuery(queries.nodes())
  return (
    <Page title={words.nodes.title}>
      {nodes.error && <Trouble error={nodes.error} />}
      {nodes.data?.length === 0 && <Empty icon="nodes" title={words.nodes.empty} hint={words.nodes.emptyHint} />}
      <div className="node-cards">
        {nodes.data?.map(node => (
          <NodeCard key={node.name} node={node} />
        ))}
      </div>
    </Page>
  )
}

function NodeCard({ node }: { node: NodeView }) {
  const words = useWords()
  const reason = useReason(node)
  const { capacity, free } = node
  const usedOf = (used: string, total: string) => words.home.usedOf(used, total)
  return (
    <section className="panel" aria-label={node.name}>
      <header>
        <h2>{node.name}</h2>
        <span className="soft small mono">{node.address}</span>
        <span className={`state tone-${node.open ? 'good' : 'warn'}`}>
          {node.open ? words.nodes.open : words.nodes.closed}
        </span>
      </header>
      <div className="body stack">
        {reason && <p className="note small">{reason}</p>}
        <h3>{words.usage.reserved}</h3>
        <Gauge
          label={words.home.cpus}
          used={capacity.cpus_milli - free.cpus_milli}
          total={capacity.cpus_milli}
          text={usedOf(cpus(capacity.cpus_milli - free.cpus_milli), cpus(capacity.cpus_milli))}
        />
        <Gauge
          label={words.home.memory}
          used={capacity.memory_bytes - free.memory_bytes}
          total={capacity.memory_bytes}
          text={usedOf(bytes(capacity.memory_bytes - free.memory_bytes), bytes(capacity.memory_bytes))}
        />
        {Object.entries(capacity.accelerators ?? {}).map(([kind, total]) => {
          const used = total - (free.accelerators?.[kind] ?? 0)
          return <Gauge key={kind} label={kind} used={used} total={total} text={usedOf(String(used), String(total))} />
        })}
        <NodeUse node={node} />
        <div>
          <h3>{words.nodes.heldBy}</h3>
          {node.held_by.length === 0 && <span className="soft">{words.nodes.nobody}</span>}
          <ul className="held">
            {node.held_by.map(held => (
              <li key={held.job}>
                <Link href={paths.job(held.job)}>{held.job}</Link>
                <span className="soft small">{resources(held.amount)}</span>
              </li>
            ))}
          </ul>
        </div>
      </div>
    </section>
  )
}
