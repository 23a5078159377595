import type { RoleView } from '../../api/original.ts'
import type { Planned } from '../../api/queries.ts'
import { bytes, duration } from '../../format.ts'
import { Fact } from '../../ui/Fact.tsx'
import { Rich } from '../../ui/Say.tsx'
import type { Words } from '../../words/en.ts'
import { useReason, useWords } from '../../words/index.tsx'
import { GoodToKnow } from './GoodToKnow.tsx'

const OURS = 'trainmaster'

/** What would run, with every default filled in. */
export function PlanView({ planned }: { planned: Planned }) {
  const words = useWords()
  const w = words.create
  const { plan } = planned
  return (
    <div className="stack">
      {planned.dialect !== OURS && <p className="tag">{w.dialect(planned.dialect)}</p>}
      <ul className="plan">
        {plan.roles.map(role => (
          <li key={role.name}>
            <strong>{role.name}</strong> <span className="soft">{w.tasksEach(role.tasks)}</span>
            <div>
              {[w.cpusOf(String(role.cpus)), bytes(role.memory_bytes), ...devices(role.accelerators)].join(' · ')}
            </div>
          </li>
        ))}
      </ul>
      <dl className="facts">
        {plan.algorithm && <Fact name={words.pick.madeFrom}>{plan.algorithm}</Fact>}
        {plan.framework && <Fact name={w.framework}>{plan.framework}</Fact>}
        {plan.code && <Fact name={w.code}>{plan.code}</Fact>}
        <Fact name={w.duration}>
          {plan.max_duration_ms == null ? w.noLimit : duration(plan.max_duration_ms, words.units)}
        </Fact>
        {plan.inputs.length > 0 && <Fact name={w.inputs}>{plan.inputs.map(it => it.place).join(', ')}</Fact>}
        {plan.outputs.length > 0 && <Fact name={w.outputs}>{plan.outputs.map(it => it.place).join(', ')}</Fact>}
      </dl>
      <GoodToKnow notes={planned.notes} />
      {planned.report.length > 0 && (
        <details>
          <summary>{w.report}</summary>
          <ul className="report small">
            {planned.report.map(note => (
              <Fated key={`${note.path} ${note.line} ${note.reason}`} note={note} />
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}

function Fated({ note }: { note: Planned['report'][number] }) {
  const { create: w } = useWords()
  const reason = useReason(note)
  return (
    <li>
      <span className={`tag fate-${note.fate}`}>{w.fates[note.fate]}</span> <code className="inline">{note.path}</code>{' '}
      <span className="soft">
        <Rich text={reason} />
      </span>
    </li>
  )
}

/** The ports of each task, by label. */
export const portsOf = (role: RoleView, { app, made: w }: Words) =>
  Object.entries(role.ports).map(([name, { count, from }]) =>
    app.about(name, from == null ? w.anyPort(count) : w.fromPort(count, from)),
  )

export const devices = (accelerators: Record<string, number>) =>
  Object.entries(accelerators).map(([kind, count]) => `${count} × ${kind}`)
