import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import * as queries from '../../api/queries.ts'
import { Button } from '../../ui/Button.tsx'
import { SelectField, TextArea, TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { type Path, setField } from './draft.ts'
import { Group } from './Group.tsx'
import { InFile } from './InFile.tsx'
import { NumberField } from './NumberField.tsx'
import { TextAt } from './ProText.tsx'
import * as pro from './pro.ts'
import type { Put } from './put.ts'
import { RowsField } from './RowsField.tsx'
import { commandOf, rolesOf } from './simple.ts'

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
      <Presets pick={preset => setDraft(pro.applyPreset(draft, role, preset))} />
      <Accelerators put={put} role={role} />
      <TextAt put={put} label={w.cpus} at={at('cpus')} placeholder="1" isNumber />
      <TextAt put={put} label={w.memory} at={at('memory')} help={w.memoryHelp} placeholder="4GiB" />
      <TextAt put={put} label={w.sharedMemory} at={at('shared_memory')} placeholder="64MiB" />
      <TextAt put={put} label={w.disk} at={at('disk')} help={w.diskHelp} placeholder={w.diskNoLimit} />
      <TextAt put={put} label={w.more.roleImage} at={at('image')} help={w.more.roleImageHelp} />
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

function Presets({ pick }: { pick: (preset: (typeof pro.PRESETS)[number]) => void }) {
  const words = useWords()
  return (
    <fieldset className="rows-field whole">
      <legend className="label">{words.create.presets}</legend>
      <div className="row">
        {pro.PRESETS.map(preset => (
          <button key={preset.cpus} type="button" className="tile" onClick={() => pick(preset)}>
            {words.create.preset(preset.accelerators, preset.cpus)}
          </button>
        ))}
      </div>
    </fieldset>
  )
}

function Accelerators({ put, role }: Omit<Props, 'choose'>) {
  const words = useWords()
  const { draft, setDraft, saidIn } = put
  const at: Path = ['roles', role, 'accelerators']
  const nodes = useQuery(queries.nodes())
  const { kind, count } = pro.acceleratorOf(draft, role)
  const kinds = new Set((nodes.data ?? []).flatMap(node => Object.keys(node.capacity.accelerators ?? {})))
  if (kind) kinds.add(kind)
  if (pro.hasManyKinds(draft, role)) return <InFile put={put} label={words.create.acceleratorCount} at={at} />
  return (
    <>
      <SelectField
        label={words.create.acceleratorKind}
        value={kind}
        onChange={event => setDraft(pro.setAccelerator(draft, role, event.target.value, Number(count) || 1))}
      >
        <option value="">{words.create.anyKind}</option>
        {[...kinds].map(it => (
          <option key={it}>{it}</option>
        ))}
      </SelectField>
      <NumberField
        label={words.create.acceleratorCount}
        least={0}
        value={count}
        wrong={saidIn(at)}
        change={number => setDraft(pro.setAccelerator(draft, role, kind, number ?? 0))}
      />
    </>
  )
}
