import { useState } from 'react'
import type { Needs } from '../../api/algorithms.ts'
import { Button } from '../../ui/Button.tsx'
import { TextArea, TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { Accelerators } from './Accelerators.tsx'
import { canUseCards } from './algorithm.ts'
import { type Path, setField, usesAlgorithm } from './draft.ts'
import { Group } from './Group.tsx'
import { TextAt } from './ProText.tsx'
import * as pro from './pro.ts'
import type { Put } from './put.ts'
import { RowsField } from './RowsField.tsx'
import { commandOf, rolesOf } from './simple.ts'
import { useAlgorithm } from './useAlgorithm.ts'

interface Props {
  put: Put
  role: string
  choose: (role: string) => void
}

/** Everything that can be asked for the tasks of one role. */
export function RoleForm({ put, role, choose }: Props) {
  const words = useWords()
  const w = words.create
  const { draft, setDraft, said, saidIn } = put
  const [name, setName] = useState(role)
  const uses = usesAlgorithm(draft)
  const needs = useAlgorithm(draft)?.needs
  const at = (key: string): Path => ['roles', role, key]
  const rename = () => {
    const renamed = pro.renameRole(draft, role, name)
    setDraft(renamed)
    choose(rolesOf(renamed).includes(name) ? name : role)
  }
  return (
    <Group title={role}>
      <TextField
        label={w.roleName}
        value={name}
        wrong={said(['roles', role])}
        onChange={event => setName(event.target.value)}
        onBlur={rename}
      />
      <TextAt put={put} label={w.instances} at={at('tasks')} placeholder="1" isNumber />
      {!uses && (
        <div className="whole">
          <TextArea
            label={w.command}
            help={w.commandHelp}
            rows={3}
            value={commandOf(draft, role)}
            wrong={commandOf(draft, role) === '' ? null : said(at('command'))}
            onChange={event => setDraft(setField(draft, at('command'), event.target.value))}
          />
        </div>
      )}
      <Presets needs={needs} pick={preset => setDraft(pro.applyPreset(draft, role, preset))} />
      <Accelerators put={put} role={role} needs={needs} />
      <TextAt put={put} label={w.cpus} at={at('cpus')} placeholder="1" isNumber />
      <TextAt put={put} label={w.memory} at={at('memory')} help={w.memoryHelp} placeholder="4GiB" />
      <TextAt put={put} label={w.sharedMemory} at={at('shared_memory')} placeholder="64MiB" />
      <TextAt put={put} label={w.disk} at={at('disk')} help={w.diskHelp} placeholder={w.diskNoLimit} />
      {!uses && <TextAt put={put} label={w.more.roleImage} at={at('image')} help={w.more.roleImageHelp} />}
      <TextAt
        put={put}
        label={w.minFailed}
        at={[...at('completion'), 'min_failed']}
        help={w.completionHelp}
        placeholder="1"
        isNumber
      />
      <TextAt
        put={put}
        label={w.minSucceeded}
        at={[...at('completion'), 'min_succeeded']}
        help={w.completionHelp}
        isNumber
      />
      <TextAt
        put={put}
        label={w.more.taskRetries}
        at={at('retries')}
        help={w.more.taskRetriesHelp}
        placeholder="0"
        isNumber
      />
      <RowsField
        label={w.ports}
        fields={[w.portLabel, w.portCount, w.portFrom]}
        rows={pro.portsOf(draft, role)}
        change={rows => setDraft(pro.setPorts(draft, role, rows))}
        wrong={saidIn(at('ports'))}
      />
      <RowsField
        label={w.env}
        fields={[w.envName, w.envValue]}
        rows={pro.pairsAt(draft, at('env'))}
        change={rows => setDraft(pro.setPairs(draft, at('env'), rows))}
        wrong={saidIn(at('env'))}
        isFixed={key => pro.isFixed(draft, at('env'), key)}
      />
      <div>
        <Button
          look="danger"
          refused={rolesOf(draft).length > 1 ? null : w.lastRole}
          onClick={() => setDraft(pro.removeRole(draft, role))}
        >
          {w.removeRole}
        </Button>
      </div>
    </Group>
  )
}

interface PresetsProps {
  needs: Needs | undefined
  pick: (preset: (typeof pro.PRESETS)[number]) => void
}

/** Sizes that are asked for often. Those with more accelerators than the algorithm can use are greyed. */
function Presets({ needs = {}, pick }: PresetsProps) {
  const words = useWords()
  const refusedFor = (count: number) => {
    if (!canUseCards(needs)) return words.pick.noCardAtAll
    const most = needs.accelerators_max
    return most != null && count > most ? words.pick.cardsMost(most) : null
  }
  return (
    <fieldset className="rows-field whole">
      <legend className="label">{words.create.presets}</legend>
      <div className="row">
        {pro.PRESETS.map(preset => (
          <Button key={preset.cpus} refused={refusedFor(preset.accelerators)} onClick={() => pick(preset)}>
            {words.create.preset(preset.accelerators, preset.cpus)}
          </Button>
        ))}
      </div>
    </fieldset>
  )
}
