import { Check, SelectField, TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { AlgorithmField } from './AlgorithmField.tsx'
import { AlgorithmForm } from './AlgorithmForm.tsx'
import { AlgorithmResources } from './AlgorithmResources.tsx'
import { type Draft, type Path, setField, textOf, usesAlgorithm } from './draft.ts'
import { FrameworkField } from './FrameworkField.tsx'
import { Group } from './Group.tsx'
import { InFile } from './InFile.tsx'
import { NumberField } from './NumberField.tsx'
import { hasManyKinds } from './pro.ts'
import { type Put, putOf } from './put.ts'
import { SimpleCode } from './SimpleCode.tsx'
import { SimpleData } from './SimpleData.tsx'
import * as simple from './simple.ts'
import type { Problem } from './usePlan.ts'

interface Props {
  draft: Draft
  setDraft: (draft: Draft) => void
  problems: Problem[]
}

/** The form of those who want to train and not to learn a file format. */
export function SimpleDoor({ draft, setDraft, problems }: Props) {
  const { create: w } = useWords()
  const put = putOf(draft, setDraft, problems)
  const { said } = put
  const name = textOf(draft, ['name'])
  const uses = usesAlgorithm(draft)
  return (
    <form className="stack" onSubmit={event => event.preventDefault()}>
      <Group title={w.basics}>
        <SelectField label={w.cluster} help={w.clusterHelp} defaultValue="local">
          <option value="local">{w.clusterLocal}</option>
        </SelectField>
        <TextField
          label={w.name}
          help={w.nameHelp}
          placeholder={w.namePlaceholder}
          maxLength={64}
          value={name}
          wrong={name === '' ? null : said(['name'])}
          onChange={event => setDraft(simple.setName(draft, event.target.value))}
        />
        {!uses && <FrameworkField put={put} />}
        <AlgorithmField put={put} />
      </Group>
      {uses ? (
        <>
          <AlgorithmForm put={put} />
          <AlgorithmResources put={put} />
        </>
      ) : (
        <>
          <Distribution put={put} />
          <SimpleData put={put} />
          <SimpleCode put={put} />
        </>
      )}
      <Monitoring put={put} />
      <Group title={w.limits}>
        <TextField
          label={w.duration}
          help={w.durationHelp}
          placeholder="12h"
          value={textOf(draft, ['max_duration'])}
          wrong={said(['max_duration'])}
          onChange={event => setDraft(setField(draft, ['max_duration'], event.target.value))}
        />
        <NumberField
          label={w.retries}
          help={w.retriesHelp}
          least={0}
          value={textOf(draft, ['retries']) || '0'}
          wrong={said(['retries'])}
          change={value => setDraft(setField(draft, ['retries'], value === 0 ? null : value))}
        />
      </Group>
    </form>
  )
}

function Distribution({ put }: { put: Put }) {
  const { create: w } = useWords()
  const { draft, setDraft, said, saidIn } = put
  const main = simple.mainRole(draft)
  const of = (role: string, key: string): Path => ['roles', role, key]
  const tasks = (role: string) => ({
    least: 1,
    value: textOf(draft, of(role, 'tasks')) || '1',
    wrong: said(of(role, 'tasks')),
    change: (value: number | null) => setDraft(setField(draft, of(role, 'tasks'), value)),
  })
  const distributed = simple.isDistributed(draft)
  return (
    <Group title={w.distribution}>
      <Check
        label={w.distributed}
        help={w.distributedHelp}
        checked={distributed}
        onChange={event => setDraft(simple.setDistributed(draft, event.target.checked))}
      />
      {distributed && <NumberField label={w.ps} help={w.psHelp} {...tasks('ps')} />}
      {distributed && <NumberField label={w.workers} {...tasks(main)} />}
      {hasManyKinds(draft, main) ? (
        <InFile put={put} label={w.accelerators} at={of(main, 'accelerators')} />
      ) : (
        <NumberField
          label={w.accelerators}
          help={w.acceleratorsHelp}
          least={0}
          value={simple.acceleratorsOf(draft)}
          wrong={saidIn(of(main, 'accelerators'))}
          change={value => setDraft(simple.setAccelerators(draft, value))}
        />
      )}
      <NumberField
        label={w.cpus}
        least={0.1}
        step={0.1}
        value={textOf(draft, of(main, 'cpus')) || '1'}
        wrong={said(of(main, 'cpus'))}
        change={value => setDraft(simple.setForEach(draft, 'cpus', value === 1 ? null : value))}
      />
      <TextField
        label={w.memory}
        help={w.memoryHelp}
        placeholder="4GiB"
        value={textOf(draft, of(main, 'memory'))}
        wrong={said(of(main, 'memory'))}
        onChange={event => setDraft(simple.setForEach(draft, 'memory', event.target.value))}
      />
    </Group>
  )
}

function Monitoring({ put: { draft, setDraft } }: { put: Put }) {
  const { create: w } = useWords()
  const { logPath: wrong } = simple.wrongOf(draft)
  return (
    <Group title={w.monitoring}>
      <Check
        label={w.tensorboard}
        help={w.tensorboardHelp}
        checked={simple.hasTensorboard(draft)}
        onChange={event => setDraft(simple.setLogPath(draft, event.target.checked ? simple.LOG_PATH_DEFAULT : null))}
      />
      {simple.hasTensorboard(draft) && (
        <TextField
          label={w.logPath}
          help={w.logPathHelp}
          value={simple.logPathOf(draft)}
          wrong={wrong && w[wrong]}
          onChange={event => setDraft(simple.setLogPath(draft, event.target.value))}
        />
      )}
    </Group>
  )
}
