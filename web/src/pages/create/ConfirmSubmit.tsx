import { useState } from 'react'
import { newKey } from '../../api/actions.ts'
import type { Planned } from '../../api/queries.ts'
import { bytes } from '../../format.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog } from '../../ui/Dialog.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { useWords } from '../../words/index.tsx'
import { devices } from './PlanView.tsx'

interface Props {
  planned: Planned
  submit: (key: string) => Promise<void>
  onClose: () => void
}

/** Draws the machines that are asked for, one box for each task, before they are. */
export function ConfirmSubmit({ planned, submit, onClose }: Props) {
  const words = useWords()
  const w = words.create
  const [isBusy, setBusy] = useState(false)
  const [key] = useState(newKey)
  const go = async () => {
    setBusy(true)
    await submit(key)
  }
  const { plan } = planned
  const total = plan.roles.reduce((sum, role) => sum + role.tasks * role.cpus, 0)
  const memory = plan.roles.reduce((sum, role) => sum + role.tasks * role.memory_bytes, 0)
  return (
    <Dialog title={`${w.confirmTitle} ${plan.name}`} onClose={onClose} wide>
      <h3>{w.confirmMachine}</h3>
      <ul className="machines">
        {plan.roles.map(role => (
          <li key={role.name} className="machine">
            <header>
              <Icon name="nodes" />
              <strong>{role.name}</strong>
              <span className="times">× {role.tasks}</span>
            </header>
            <dl>
              <Part name={words.home.cpus} value={String(role.cpus)} />
              <Part name={words.home.memory} value={bytes(role.memory_bytes)} />
              <Part name={words.job.devices} value={devices(role.accelerators).join(', ') || '0'} />
              <Part name={w.sharedMemory} value={bytes(role.shared_memory_bytes)} />
              <Part name={w.disk} value={role.disk_bytes == null ? w.diskNoLimit : bytes(role.disk_bytes)} />
            </dl>
            <pre className="code" title={role.script}>
              {role.script || role.command.join(' ')}
            </pre>
          </li>
        ))}
      </ul>
      <p className="soft">
        {w.total}: {w.cpusOf(String(Number(total.toFixed(2))))} · {bytes(memory)}
      </p>
      <div className="ends">
        <Button onClick={onClose}>{words.app.cancel}</Button>
        <Button look="primary" autoFocus refused={isBusy ? w.submitting : null} onClick={go}>
          {isBusy ? w.submitting : w.submit}
        </Button>
      </div>
    </Dialog>
  )
}

function Part({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}
