import { useState } from 'react'
import { Check, SelectField, TextField } from '../../ui/Field.tsx'
import { Icon } from '../../ui/Icon.tsx'
import { useWords } from '../../words/index.tsx'
import { PickButtons } from '../pick/PlaceField.tsx'
import { AlgorithmField } from './AlgorithmField.tsx'
import { AlgorithmForm } from './AlgorithmForm.tsx'
import { type Draft, fieldOf, type Path, setField, usesAlgorithm } from './draft.ts'
import { Group } from './Group.tsx'
import { PlaceAt } from './PlaceAt.tsx'
import { ProCode } from './ProCode.tsx'
import { TextAt } from './ProText.tsx'
import * as pro from './pro.ts'
import { putOf } from './put.ts'
import { RoleForm } from './RoleForm.tsx'
import { RowsField } from './RowsField.tsx'
import { mainRole, rolesOf } from './simple.ts'
import type { Problem } from './usePlan.ts'

interface Props {
  draft: Draft
  setDraft: (draft: Draft) => void
  problems: Problem[]
}

/** Every role for itself, with everything that can be asked for it. */
export default function ProDoor({ draft, setDraft, problems }: Props) {
  const words = useWords()
  const w = words.create
  const uses = usesAlgorithm(draft)
  // With an algorithm, one task of a worker need not be written.
  const roles = rolesOf(draft).length === 0 && uses ? [mainRole(draft)] : rolesOf(draft)
  const [chosen, choose] = useState(roles[0] ?? '')
  const role = roles.includes(chosen) ? chosen : (roles[0] ?? '')
  const put = putOf(draft, setDraft, problems)
  const rows = (at: Path) => ({
    rows: pro.pairsAt(draft, at),
    change: (next: pro.Row[]) => setDraft(pro.setPairs(draft, at, next)),
    wrong: put.saidIn(at),
    isFixed: (name: string) => pro.isFixed(draft, at, name),
  })
  return (
    <form className="stack" onSubmit={event => event.preventDefault()}>
      <Group title={w.basics}>
        <TextAt put={put} label={w.name} at={['name']} help={w.nameHelp} placeholder={w.namePlaceholder} />
        <SelectField label={w.cluster} help={w.clusterHelp} defaultValue="local">
          <option value="local">{w.clusterLocal}</option>
        </SelectField>
        <TextAt put={put} label={w.description} at={['description']} />
        <TextField
          label={w.more.tags}
          help={w.more.tagsHelp}
          value={pro.tagsOf(draft)}
          wrong={put.saidIn(['tags'])}
          onChange={event => setDraft(pro.setTags(draft, event.target.value))}
        />
        <TextAt put={put} label={w.priority} at={['priority']} help={w.priorityHelp} placeholder="0" isNumber />
        <TextAt put={put} label={w.duration} at={['max_duration']} help={w.durationHelp} placeholder="12h" />
        <AlgorithmField put={put} />
      </Group>
      <nav className="tabs" aria-label={w.roles}>
        {roles.map(it => (
          <button key={it} type="button" aria-pressed={it === role} onClick={() => choose(it)}>
            {it}
          </button>
        ))}
        <button
          type="button"
          aria-label={w.addRole}
          title={w.addRole}
          onClick={() => {
            const added = pro.addRole(draft)
            setDraft(added.draft)
            choose(added.name)
          }}
        >
          <Icon name="create" size={12} />
        </button>
      </nav>
      {role !== '' && <RoleForm key={role} put={put} role={role} choose={choose} />}
      {uses ? <AlgorithmForm put={put} /> : <ProCode put={put} />}
      <Group title={w.data}>
        {!uses && (
          <PlaceAt put={put} label={w.more.input} at={['input']} help={w.more.inputHelp} placeholder="mnist@3" />
        )}
        <PlaceAt
          put={put}
          label={w.outputs}
          at={['output']}
          help={w.outputHelp}
          placeholder="results:digits"
          isOutput
        />
        <PlaceAt
          put={put}
          label={w.more.logs}
          at={['logs']}
          help={w.more.logsHelp}
          placeholder="results:logs"
          isOutput
        />
        <TextAt put={put} label={w.more.from} at={['from']} help={w.more.fromHelp} placeholder="digits@2" />
        {!uses && (
          <>
            <RowsField
              label={w.mounts}
              fields={[w.mountName, w.mountPlace]}
              {...rows(['inputs'])}
              beside={(label, value, change) => <PickButtons label={label} value={value} change={change} isTight />}
            />
            <RowsField
              label={w.more.params}
              fields={[w.envName, w.envValue]}
              {...rows(['params'])}
              change={next => setDraft(pro.setParams(draft, next))}
            />
          </>
        )}
        <RowsField label={w.more.jobEnv} fields={[w.envName, w.envValue]} {...rows(['env'])} />
      </Group>
      <Group title={w.limits}>
        <TextAt put={put} label={w.retries} at={['retries']} help={w.retriesHelp} placeholder="0" isNumber />
        <TextAt
          put={put}
          label={w.more.keepFailed}
          at={['keep_failed']}
          help={w.more.keepFailedHelp}
          placeholder="30m"
        />
        <TextAt put={put} label={w.more.stopGrace} at={['stop_grace']} help={w.more.stopGraceHelp} placeholder="30s" />
        <Check
          label={w.more.gang}
          help={w.more.gangHelp}
          checked={fieldOf(draft, ['gang']) !== false}
          onChange={event => setDraft(setField(draft, ['gang'], event.target.checked ? null : false))}
        />
      </Group>
    </form>
  )
}
