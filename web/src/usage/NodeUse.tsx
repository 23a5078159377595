import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { NodeView } from '../api/queries.ts'
import { times } from '../charts/axes.ts'
import { Chart } from '../charts/Chart.tsx'
import type { Range } from '../charts/line.ts'
import { Gauge } from '../ui/Gauge.tsx'
import { useWords } from '../words/index.tsx'
import { nodesOf, PANELS, type Panel, type Subject, seriesOf } from './panels.ts'
import { recentUsage, usageNow } from './queries.ts'
import { useAmounts } from './useAmounts.ts'

const SHOWN = PANELS.filter(it => it.key === 'cpu' || it.key === 'memory')

/** What the tasks on a node use of it now, and have used in the last quarter of an hour. */
export function NodeUse({ node }: { node: NodeView }) {
  const { usage: words, home } = useWords()
  const amounts = useAmounts()
  const now = useQuery(usageNow()).data?.nodes.find(it => it.name === node.name)?.now
  const { data } = useQuery(recentUsage())
  const subjects = useMemo(() => (data ? nodesOf(data, new Set([node.name])) : []), [data, node.name])
  if (!now) return null
  const { cpus_milli, memory_bytes } = node.capacity
  const [cores, memory] = [now.cpu_cores ?? 0, now.memory_bytes ?? 0]
  const of = (used: string, total: string) => words.usedOf(used, total)
  return (
    <div className="stack node-use">
      <h3>{words.inUse}</h3>
      <Gauge
        label={home.cpus}
        used={cores}
        total={cpus_milli / 1000}
        text={of(amounts.cpu.exact(cores), String(cpus_milli / 1000))}
      />
      <Gauge
        label={home.memory}
        used={memory}
        total={memory_bytes}
        text={of(amounts.memory.exact(memory), amounts.memory.exact(memory_bytes))}
      />
      {data && (
        <div className="node-charts">
          {SHOWN.map(panel => (
            <History
              key={panel.key}
              panel={panel}
              subjects={subjects}
              at_ms={data.at_ms}
              whole={[data.from_ms, data.to_ms]}
            />
          ))}
        </div>
      )}
    </div>
  )
}

interface HistoryProps {
  panel: Panel
  subjects: Subject[]
  at_ms: number[]
  whole: Range
}

function History({ panel, subjects, at_ms, whole }: HistoryProps) {
  const { usage: words, locale } = useWords()
  const y = useAmounts()[panel.key]
  const x = useMemo(() => times(locale), [locale])
  const series = useMemo(() => seriesOf(panel, subjects, at_ms, () => ''), [panel, subjects, at_ms])
  const title = words.history(words[panel.key])
  if (series.length === 0) return null
  return (
    <figure>
      <figcaption className="soft small">{title}</figcaption>
      <Chart label={title} series={series} x={x} y={y} fromZero whole={whole} size="small" />
    </figure>
  )
}
