import { bytes, duration } from '../../../format.ts'
import { Scrolls } from '../../../ui/Scrolls.tsx'
import type { JobUsage, TaskUsage } from '../../../usage/panels.ts'
import { useWords } from '../../../words/index.tsx'

type UsageTotals = TaskUsage['totals']

const amount = (count: number | null | undefined) => (count == null ? '–' : bytes(count))

/** What was used in all, as far as anybody could tell: each task, each role, and all of them. */
export function Totals({ usage }: { usage: JobUsage }) {
  const { usage: words, job: jobWords } = useWords()
  const rows: [string, UsageTotals][] = [
    ...usage.tasks.map((it): [string, UsageTotals] => [it.task, it.totals]),
    ...(usage.roles.length > 1
      ? usage.roles.filter(it => it.tasks > 1).map((it): [string, UsageTotals] => [it.role, it.totals])
      : []),
    ...(usage.tasks.length > 1 ? [[words.allTasks, usage.total.totals] as [string, UsageTotals]] : []),
  ]
  return (
    <section className="panel">
      <header>
        <h2>{words.totals}</h2>
      </header>
      <Scrolls label={words.totals}>
        <table>
          <thead>
            <tr>
              <th>{jobWords.task}</th>
              {[words.cpuTime, words.peakMemory, words.wasRead, words.wasWritten, words.wasReceived, words.wasSent].map(
                name => (
                  <th key={name} className="number">
                    {name}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, totals]) => (
              <Row key={name} name={name} totals={totals} />
            ))}
          </tbody>
        </table>
      </Scrolls>
    </section>
  )
}

function Row({ name, totals }: { name: string; totals: UsageTotals }) {
  const { units } = useWords()
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className="number">{totals.cpu_ms == null ? '–' : duration(totals.cpu_ms, units)}</td>
      <td className="number">{amount(totals.peak_memory_bytes)}</td>
      <td className="number">{amount(totals.read_bytes)}</td>
      <td className="number">{amount(totals.written_bytes)}</td>
      <td className="number">{amount(totals.received_bytes)}</td>
      <td className="number">{amount(totals.sent_bytes)}</td>
    </tr>
  )
}
