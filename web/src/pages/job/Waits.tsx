import { Link } from 'wouter'
import type { Resources } from '../../api/queries.ts'
import { resources } from '../../format.ts'
import { paths } from '../../paths.ts'
import { Scrolls } from '../../ui/Scrolls.tsx'
import { useWords } from '../../words/index.tsx'
import type { Explanation } from './WhyTab.tsx'

/** Whether one task fits; a node's kinds of accelerators may stand for any. */
function holds(free: Resources, need: Resources): boolean {
  const counts = Object.values(free.accelerators ?? {})
  const has = (kind: string) => (kind === 'any' ? Math.max(0, ...counts) : (free.accelerators?.[kind] ?? 0))
  const devices = Object.entries(need.accelerators ?? {}).every(([kind, count]) => has(kind) >= count)
  return free.cpus_milli >= need.cpus_milli && free.memory_bytes >= need.memory_bytes && devices
}

/** The arithmetic of a job that waits: what each task needs, and what each node has left. */
export function Waits({ why }: { why: Explanation }) {
  return (
    <>
      <Needs why={why} />
      <Nodes why={why} />
    </>
  )
}

function Needs({ why }: { why: Explanation }) {
  const words = useWords()
  return (
    <section className="panel">
      <header>
        <h2>{words.why.needs}</h2>
      </header>
      <Scrolls label={words.why.needs}>
        <table>
          <thead>
            <tr>
              <th>{words.why.role}</th>
              <th className="number">{words.jobs.tasks}</th>
              <th>{words.why.each}</th>
            </tr>
          </thead>
          <tbody>
            {why.needs.map(need => (
              <tr key={need.role}>
                <th scope="row">{need.role}</th>
                <td className="number">{need.tasks}</td>
                <td>{resources(need.each)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
    </section>
  )
}

function Nodes({ why }: { why: Explanation }) {
  const words = useWords()
  const fit = (node: Explanation['nodes'][number], need: Explanation['needs'][number]) =>
    !node.open ? words.why.closed : holds(node.free, need.each) ? words.why.fits : words.why.tooLittle
  return (
    <section className="panel">
      <header>
        <h2>{words.why.nodes}</h2>
      </header>
      <Scrolls label={words.why.nodes}>
        <table>
          <thead>
            <tr>
              <th>{words.job.node}</th>
              <th>{words.why.free}</th>
              {why.needs.map(need => (
                <th key={need.role}>{need.role}</th>
              ))}
              <th>{words.why.heldBy}</th>
            </tr>
          </thead>
          <tbody>
            {why.nodes.map(node => (
              <tr key={node.name}>
                <th scope="row">{node.name}</th>
                <td>
                  {resources(node.free)} <span className="soft small">({resources(node.capacity)})</span>
                </td>
                {why.needs.map(need => (
                  <td key={need.role}>{fit(node, need)}</td>
                ))}
                <td>
                  {node.held_by.map(held => (
                    <div key={held.job}>
                      <Link href={paths.job(held.job)}>{held.job}</Link>{' '}
                      <span className="soft small">{resources(held.amount)}</span>
                    </div>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
    </section>
  )
}
