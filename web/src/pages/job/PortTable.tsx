import type { NodeView, RunView } from '../../api/queries.ts'
import { Copy } from '../../ui/Copy.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { Empty } from '../../ui/Say.tsx'
import { Scrolls } from '../../ui/Scrolls.tsx'
import { State } from '../../ui/State.tsx'
import { useWords } from '../../words/index.tsx'

interface Port {
  run: RunView
  label: string
  address: string
}

/** Every port that the newest runs have been given, with where it is. */
function portsOf(runs: RunView[], nodes: NodeView[]): Port[] {
  const host = (node: string) => nodes.find(it => it.name === node)?.address ?? node
  return runs.flatMap(run =>
    Object.entries(run.ports).flatMap(([label, numbers]) =>
      numbers.map(number => ({ run, label, address: `${host(run.node)}:${number}` })),
    ),
  )
}

export function PortTable({ runs, nodes }: { runs: RunView[]; nodes: NodeView[] }) {
  const words = useWords()
  const ports = portsOf(runs, nodes)
  return (
    <section className="panel">
      <header>
        <h2>{words.services.ports}</h2>
        <span className="soft small">{words.services.portsHelp}</span>
      </header>
      {ports.length === 0 ? (
        <Empty icon="nodes" title={words.services.noPorts} hint={words.services.noPortsHint} />
      ) : (
        <Scrolls label={words.services.ports}>
          <table>
            <thead>
              <tr>
                <th>{words.services.task}</th>
                <th>{words.services.label}</th>
                <th>{words.services.address}</th>
                <th>{words.services.state}</th>
                <th>
                  <span className="unseen">{words.services.open}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {ports.map(port => (
                <PortRow key={`${port.run.task} ${port.address}`} port={port} />
              ))}
            </tbody>
          </table>
        </Scrolls>
      )}
    </section>
  )
}

function PortRow({ port: { run, label, address } }: { port: Port }) {
  const words = useWords()
  const isOpen = run.state === 'running'
  return (
    <tr>
      <th scope="row" className="nowrap">
        {run.task}
      </th>
      <td className="mono">{label}</td>
      <td className="mono nowrap">{address}</td>
      <td>
        <State state={run.state} />
      </td>
      <td className="row-ends">
        {isOpen && isWeb(run, label) && (
          <a
            className="button tight"
            href={`http://${address}/`}
            target="_blank"
            rel="noopener noreferrer"
            aria-label={words.services.openAddress(address)}
          >
            {words.services.open}
            <Icon name="right" size={12} />
          </a>
        )}
        {isOpen && <Copy text={address} />}
      </td>
    </tr>
  )
}

/** Whether a browser could make anything of what answers there, by what people call it. */
const isWeb = (run: RunView, label: string) => /http|web|tensorboard|jupyter/i.test(`${run.task} ${label}`)
