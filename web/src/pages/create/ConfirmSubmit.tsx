import { useState } from 'react'
import type { RoleView } from '../../api/original.ts'
import type { Planned } from '../../api/queries.ts'
import { bytes, cpus, duration } from '../../format.ts'
import { Button } from '../../ui/Button.tsx'
import { CodeBlock } from '../../ui/CodeBlock.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { Fact } from '../../ui/Fact.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { Trouble } from '../../ui/Say.tsx'
import { useWords } from '../../words/index.tsx'
import { devices, portsOf } from './PlanView.tsx'

interface Props {
  planned: Planned
  submit: () => Promise<void>
  onClose: () => void
}

/** Draws the machines that are asked for, one box for each task, before they are. */
export function ConfirmSubmit({ planned, submit, onClose }: Props) {
  const words = useWords()
  const w = words.create
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const go = async () => {
    setBusy(true)
    setError(null)
    await submit().catch(setError)
    setBusy(false)
  }
  const { plan } = planned
  return (
    <Dialog title={w.confirmTitle(plan.name)} onClose={onClose} wide>
      <h3>{w.confirmMachine}</h3>
      <ul className="machines">
        {plan.roles.map(role => (
          <Machine key={role.name} role={role} />
        ))}
      </ul>
      <dl className="facts">
        <Fact name={w.total}>{totalOf(plan.roles, w.cpusOf)}</Fact>
        <Fact name={w.duration}>
          {plan.max_duration_ms == null ? w.noLimit : duration(plan.max_duration_ms, words.units)}
        </Fact>
        <Fact name={w.inputs}>{plan.inputs.map(it => `${it.place} → ${it.path}`).join('\n') || words.app.none}</Fact>
        <Fact name={w.outputs}>{plan.outputs.map(it => `${it.path} → ${it.place}`).join('\n') || words.app.none}</Fact>
      </dl>
      {error != null && <Trouble error={error} />}
      <div className="ends">
        <Button onClick={onClose}>{words.app.cancel}</Button>
        <Button look="primary" autoFocus refused={isBusy ? w.submitting : null} onClick={go}>
          {isBusy ? w.submitting : w.submit}
        </Button>
      </div>
    </Dialog>
  )
}

/** What all tasks have together: `6 CPUs · 12 GiB · 4 × A100`. */
function totalOf(roles: RoleView[], cpusOf: (count: string) => string): string {
  const sum = (of: (role: RoleView) => number) => roles.reduce((all, role) => all + role.tasks * of(role), 0)
  const kinds = [...new Set(roles.flatMap(role => Object.keys(role.accelerators)))]
  const accelerators = Object.fromEntries(kinds.map(kind => [kind, sum(role => role.accelerators[kind] ?? 0)]))
  return [
    cpusOf(cpus(1000 * sum(role => role.cpus))),
    bytes(sum(role => role.memory_bytes)),
    ...devices(accelerators),
  ].join(' · ')
}

function Machine({ role }: { role: RoleView }) {
  const words = useWords()
  const w = words.create
  return (
    <li className="machine">
      <header>
        <Icon name="nodes" />
        <strong>{role.name}</strong>
        <span className="times">× {role.tasks}</span>
      </header>
      <dl>
        <Fact name={words.home.cpus}>{role.cpus}</Fact>
        <Fact name={words.home.memory}>{bytes(role.memory_bytes)}</Fact>
        <Fact name={words.job.devices}>{devices(role.accelerators).join(', ') || '0'}</Fact>
        <Fact name={w.sharedMemory}>{bytes(role.shared_memory_bytes)}</Fact>
        <Fact name={w.disk}>{role.disk_bytes == null ? w.diskNoLimit : bytes(role.disk_bytes)}</Fact>
        <Fact name={w.ports}>{portsOf(role, words).join(', ') || words.app.none}</Fact>
      </dl>
      <CodeBlock label={role.name} text={role.script || role.command.join(' ')} />
    </li>
  )
}
