import { TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { Accelerators } from './Accelerators.tsx'
import { type Path, setField, textOf } from './draft.ts'
import { Group } from './Group.tsx'
import { NumberField } from './NumberField.tsx'
import type { Put } from './put.ts'
import * as simple from './simple.ts'
import { useAlgorithm } from './useAlgorithm.ts'

/** What the tasks of an algorithm get, within what it can run on. */
export function AlgorithmResources({ put }: { put: Put }) {
  const { create: w, pick } = useWords()
  const { draft, setDraft, said } = put
  const needs = useAlgorithm(draft)?.needs ?? {}
  const role = simple.mainRole(draft)
  const at = (key: string): Path => ['roles', role, key]
  const most = needs.tasks_max
  return (
    <Group title={pick.resources}>
      <NumberField
        label={w.instances}
        help={most == null ? '' : most === 1 ? pick.oneTask : pick.tasksMost(most)}
        least={1}
        most={most ?? undefined}
        value={textOf(draft, at('tasks')) || '1'}
        wrong={said(at('tasks'))}
        refused={most === 1 && textOf(draft, at('tasks')) === '' ? pick.oneTask : null}
        change={value => setDraft(setField(draft, at('tasks'), value === 1 ? null : value))}
      />
      <Accelerators put={put} role={role} needs={needs} />
      <NumberField
        label={w.cpus}
        least={0.1}
        step={0.1}
        value={textOf(draft, at('cpus')) || '1'}
        wrong={said(at('cpus'))}
        change={value => setDraft(setField(draft, at('cpus'), value === 1 ? null : value))}
      />
      <TextField
        label={w.memory}
        help={w.memoryHelp}
        placeholder="4GiB"
        value={textOf(draft, at('memory'))}
        wrong={said(at('memory'))}
        onChange={event => setDraft(setField(draft, at('memory'), event.target.value))}
      />
    </Group>
  )
}
