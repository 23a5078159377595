import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { JobDetail, RunView } from '../../api/queries.ts'
import * as queries from '../../api/queries.ts'
import { label } from '../../api/queries.ts'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { Copy } from '../../ui/Copy.tsx'
import { Rich } from '../../ui/Say.tsx'
import type { Words } from '../../words/en.ts'
import { useWords } from '../../words/index.tsx'
import { PortTable } from './PortTable.tsx'
import { newestRuns } from './tasks.ts'
import './services.css'

/** Of a job with a thousand workers nobody opens each. */
const TENSORBOARDS_MAX = 8
/** Roles that serve the others and train nothing. */
const SERVING: ReadonlySet<string> = new Set(['ps', 'tensorboard', 'evaluator'])

/** The ways into the job's tasks. What is not there yet says so, and what to do without it. */
export default function ServicesTab({ job }: { job: JobDetail }) {
  const words = useWords()
  const { data: nodes } = useQuery(queries.nodes())
  const runs = newestRuns(job)
  const workers = runs.filter(run => !SERVING.has(run.task.slice(0, run.task.lastIndexOf('-'))))
  return (
    <div className="stack">
      <p className="soft">{words.services.intro}</p>
      <PortTable runs={runs} nodes={nodes ?? []} />
      <ul className="services">
        {workers.slice(0, TENSORBOARDS_MAX).map((run, index) => (
          <TensorBoard key={run.task} job={job} run={run} index={index} />
        ))}
        {workers.length > TENSORBOARDS_MAX && (
          <li className="soft">{words.services.moreTasks(workers.length - TENSORBOARDS_MAX)}</li>
        )}
        <Jupyter />
        <Terminal run={runs.find(run => run.ended_at_ms == null && run.pid != null) ?? runs[0]} />
        <Service
          title={words.services.desktop}
          says={words.services.desktopSays}
          meanwhile={words.services.desktopDo}
        />
      </ul>
    </div>
  )
}

interface ServiceProps {
  title: string
  of?: string
  says: string
  meanwhile: string
  children?: ReactNode
}

function Service({ title, of, says, meanwhile, children }: ServiceProps) {
  const words = useWords()
  return (
    <li className="panel service">
      <header>
        <h2>{title}</h2>
        {of && <span className="soft">{of}</span>}
        <span className="state tone-calm">{words.services.missing}</span>
      </header>
      <div className="body stack">
        <p>
          <Rich text={says} />
        </p>
        <p>
          <strong>{words.services.meanwhile}</strong> <Rich text={meanwhile} />
        </p>
        {children}
      </div>
    </li>
  )
}

function Command({ text, name }: { text: string; name: string }) {
  return (
    <div className="command">
      <CodeBlock label={name} text={text} />
      <Copy text={text} />
    </div>
  )
}

function TensorBoard({ job, run, index }: { job: JobDetail; run: RunView; index: number }) {
  const words = useWords()
  const folder = `${job.name}-${job.version}-${run.task}`
  const command = `trainmaster files cp ${label(job)}/${run.task}:/output ./${folder}\ntensorboard --logdir ./${folder}`
  return (
    <Service
      title={words.services.tensorboard(index)}
      of={words.services.tensorboardOf(run.task)}
      says={words.services.tensorboardSays}
      meanwhile={words.services.tensorboardDo}
    >
      <Command text={command} name={words.services.tensorboard(index)} />
    </Service>
  )
}

const NOTEBOOK = `roles:
  notebook:
    command: jupyter lab --ip $MA_CURRENT_IP --port $TRAINMASTER_PORTS_HTTP --no-browser --allow-root
    ports: [http]
    completion: { wait: false, min_failed: never }`

function Jupyter() {
  const words = useWords()
  return (
    <Service title={words.services.jupyter} says={words.services.jupyterSays} meanwhile={words.services.jupyterDo}>
      <Command text={NOTEBOOK} name={words.services.jupyter} />
    </Service>
  )
}

/** A task of a server that is not root's has a user namespace of its own, which everybody but root has to enter first. */
const waysIn = (pid: number, words: Words['services']) =>
  `# ${words.asRoot}\nnsenter -t ${pid} -m -p -w\n# ${words.asUser}\nnsenter -t ${pid} -U -m -p -w --preserve-credentials`

function Terminal({ run }: { run: RunView | undefined }) {
  const words = useWords()
  const isLive = run !== undefined && run.ended_at_ms == null && run.pid != null
  const otherwise = run?.ended_at_ms != null ? words.services.terminalOver : words.services.terminalWaits
  return (
    <Service
      title={words.services.terminal}
      says={words.services.terminalSays}
      meanwhile={isLive ? words.services.terminalDo : otherwise}
    >
      {isLive && <Command text={waysIn(run.pid ?? 0, words.services)} name={words.services.terminal} />}
    </Service>
  )
}
