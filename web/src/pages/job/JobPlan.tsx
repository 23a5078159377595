import { useQuery } from '@tanstack/react-query'
import type { PlanView, RoleView } from '../../api/original.ts'
import * as originals from '../../api/original.ts'
import type { JobDetail } from '../../api/queries.ts'
import { bytes, duration } from '../../format.ts'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { Fact } from '../../ui/Fact.tsx'
import { Trouble } from '../../ui/Say.tsx'
import { useWords } from '../../words/index.tsx'
import { devices, portsOf } from '../create/PlanView.tsx'

/** What runs: the job, and each role with everything its tasks get. */
export function JobPlan({ job }: { job: JobDetail }) {
  const { data: plan, error } = useQuery(originals.plan(job.id))
  if (error) return <Trouble error={error} />
  if (!plan) return null
  return (
    <>
      <WholeJob plan={plan} />
      {plan.roles.map(role => (
        <Role key={role.name} role={role} />
      ))}
    </>
  )
}

function WholeJob({ plan }: { plan: PlanView }) {
  const words = useWords()
  const w = words.made
  const retries = String(plan.retries)
  const places = (all: PlanView['inputs']) => all.map(it => `${it.path} ← ${it.place}`).join('\n')
  return (
    <section className="panel" aria-label={w.views.plan}>
      <header>
        <h2>{w.views.plan}</h2>
        <span className="soft small">{w.planHelp}</span>
      </header>
      <dl className="body facts plan-facts">
        <Fact name={w.tasks}>{plan.tasks}</Fact>
        <Fact name={words.job.priority}>{plan.priority}</Fact>
        <Fact name={w.retries}>{w.retryWords[retries] ?? retries}</Fact>
        <Fact name={w.gang}>{plan.gang ? w.together : w.alone}</Fact>
        <Fact name={words.jobs.limit}>
          {plan.max_duration_ms == null ? words.create.noLimit : duration(plan.max_duration_ms, words.units)}
        </Fact>
        <Fact name={w.grace}>
          {plan.stop_grace_ms < 1000 ? `${plan.stop_grace_ms} ms` : duration(plan.stop_grace_ms, words.units)}
        </Fact>
        {plan.algorithm && <Fact name={words.pick.madeFrom}>{plan.algorithm}</Fact>}
        {plan.framework && <Fact name={words.create.framework}>{plan.framework}</Fact>}
        {plan.code && <Fact name={words.create.code}>{plan.code}</Fact>}
        {plan.inputs.length > 0 && <Fact name={words.create.inputs}>{places(plan.inputs)}</Fact>}
        {plan.outputs.length > 0 && (
          <Fact name={words.create.outputs}>{plan.outputs.map(it => `${it.path} → ${it.place}`).join('\n')}</Fact>
        )}
        {plan.logs && <Fact name={w.logs}>{plan.logs}</Fact>}
        {plan.from && <Fact name={w.begins}>{plan.from}</Fact>}
        {plan.secrets.length > 0 && <Fact name={w.secrets}>{plan.secrets.join(', ')}</Fact>}
        {plan.conventions.length > 0 && (
          <Fact name={w.conventions}>
            <span className="mono">{plan.conventions.join(', ')}</span>
          </Fact>
        )}
      </dl>
      {plan.setup && (
        <figure className="body">
          <figcaption>{w.setup}</figcaption>
          <CodeBlock label={w.setup} text={plan.setup} />
        </figure>
      )}
    </section>
  )
}

function Role({ role }: { role: RoleView }) {
  const words = useWords()
  const w = words.made
  const env = Object.entries(role.env)
  return (
    <section className="panel" aria-label={role.name}>
      <header>
        <h2>{words.job.role(role.name, role.tasks)}</h2>
      </header>
      <dl className="body facts plan-facts">
        <Fact name={w.cpus}>{role.cpus}</Fact>
        <Fact name={w.memory}>{bytes(role.memory_bytes)}</Fact>
        <Fact name={w.sharedMemory}>{bytes(role.shared_memory_bytes)}</Fact>
        <Fact name={w.disk}>{role.disk_bytes == null ? w.noLimit : bytes(role.disk_bytes)}</Fact>
        <Fact name={w.accelerators}>{devices(role.accelerators).join(', ') || words.app.none}</Fact>
        <Fact name={w.ports}>{portsOf(role, words).join('\n') || words.app.none}</Fact>
        <Fact name={w.image}>{role.image ?? w.noImage}</Fact>
        <Fact name={w.taskRetries}>{role.retries}</Fact>
        <Fact name={w.minFailed}>{role.min_failed ?? w.never}</Fact>
        <Fact name={w.minSucceeded}>{role.min_succeeded ?? w.never}</Fact>
        <Fact name={w.wait}>{role.wait ? w.yes : w.no}</Fact>
      </dl>
      <figure className="body">
        <figcaption>{w.script}</figcaption>
        <CodeBlock label={words.app.about(role.name, w.script)} text={role.script} />
      </figure>
      {env.length > 0 && (
        <figure className="body">
          <figcaption>{w.variables}</figcaption>
          <CodeBlock
            label={words.app.about(role.name, w.variables)}
            text={env.map(([name, it]) => `${name}=${it}`).join('\n')}
          />
        </figure>
      )}
    </section>
  )
}
