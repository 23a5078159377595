import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import * as queries from '../../api/queries.ts'
import { Check, SelectField, TextArea, TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { type Draft, type Path, setField, textOf } from './draft.ts'
import { FrameworkField } from './FrameworkField.tsx'
import * as simple from './simple.ts'
import type { Problem } from './usePlan.ts'

interface Props {
  draft: Draft
  setDraft: (draft: Draft) => void
  problems: Problem[]
}

/** The form of those who want to train and not to learn a file format. */
export function SimpleDoor({ draft, setDraft, problems }: Props) {
  const words = useWords()
  const w = words.create
  const main = simple.mainRole(draft)
  const wrong = simple.wrongOf(draft)
  const said = (path: string) => problems.find(problem => problem.path === path)?.message
  const put = (path: Path, value: unknown) => setDraft(setField(draft, path, value))
  const distributed = simple.isDistributed(draft)
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
          value={textOf(draft, ['name'])}
          wrong={textOf(draft, ['name']) === '' ? null : said('name')}
          onChange={event => setDraft(simple.setName(draft, event.target.value))}
        />
        <FrameworkField draft={draft} setDraft={setDraft} said={said} />
      </Group>
      <Group title={w.distribution}>
        <Check
          label={w.distributed}
          help={w.distributedHelp}
          checked={distributed}
          onChange={event => setDraft(simple.setDistributed(draft, event.target.checked))}
        />
        {distributed && (
          <NumberField
            label={w.ps}
            help={w.psHelp}
            least={1}
            value={textOf(draft, ['roles', 'ps', 'tasks']) || '1'}
            change={value => put(['roles', 'ps', 'tasks'], value)}
          />
        )}
        {distributed && (
          <NumberField
            label={w.workers}
            least={1}
            value={textOf(draft, ['roles', main, 'tasks']) || '1'}
            change={value => put(['roles', main, 'tasks'], value)}
          />
        )}
        <NumberField
          label={w.accelerators}
          help={w.acceleratorsHelp}
          least={0}
          value={simple.acceleratorsOf(draft)}
          change={value => setDraft(simple.setAccelerators(draft, String(value)))}
        />
        <NumberField
          label={w.cpus}
          least={0.1}
          step={0.1}
          value={textOf(draft, ['roles', main, 'cpus']) || '1'}
          change={value => setDraft(simple.setForEach(draft, 'cpus', value === 1 ? null : value))}
        />
        <TextField
          label={w.memory}
          help={w.memoryHelp}
          placeholder="4GiB"
          value={textOf(draft, ['roles', main, 'memory'])}
          wrong={said(`roles.${main}.memory`)}
          onChange={event => setDraft(simple.setForEach(draft, 'memory', event.target.value))}
        />
      </Group>
      <DataGroup draft={draft} setDraft={setDraft} problems={problems} />
      <CodeGroup draft={draft} setDraft={setDraft} problems={problems} />
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
            wrong={wrong.logPath && w[wrong.logPath]}
            onChange={event => setDraft(simple.setLogPath(draft, event.target.value))}
          />
        )}
      </Group>
      <Group title={w.limits}>
        <TextField
          label={w.duration}
          help={w.durationHelp}
          placeholder="12h"
          value={textOf(draft, ['max_duration'])}
          wrong={said('max_duration')}
          onChange={event => put(['max_duration'], event.target.value)}
        />
        <NumberField
          label={w.retries}
          help={w.retriesHelp}
          least={0}
          value={textOf(draft, ['retries']) || '0'}
          change={value => put(['retries'], value === 0 ? null : value)}
        />
      </Group>
    </form>
  )
}

function DataGroup({ draft, setDraft, problems }: Props) {
  const words = useWords()
  const w = words.create
  const volumes = useQuery(queries.volumes())
  const volume = simple.volumeOf(draft)
  const wrong = simple.wrongOf(draft)
  const said = problems.find(problem => ['input', 'output'].includes(problem.path))?.message
  const names = volumes.data?.map(it => it.name) ?? []
  return (
    <Group title={w.data}>
      <SelectField
        label={w.volume}
        help={w.volumeHelp}
        value={volume}
        wrong={volume === '/' ? null : said}
        onChange={event => setDraft(simple.setVolume(draft, event.target.value))}
      >
        <option value="">{w.volumeNone}</option>
        {[...new Set([...names, ...(volume && volume !== '/' ? [volume] : [])])].map(name => (
          <option key={name}>{name}</option>
        ))}
        <option value="/">{w.volumeDirectory}</option>
      </SelectField>
      {volume === '/' && (
        <TextField
          label={w.directory}
          help={w.directoryHelp}
          value={textOf(draft, ['input'])}
          wrong={wrong.directory ? w[wrong.directory] : said}
          onChange={event =>
            setDraft(setField(draft, ['input'], event.target.value.startsWith('/') ? event.target.value : '/'))
          }
        />
      )}
    </Group>
  )
}

function CodeGroup({ draft, setDraft, problems }: Props) {
  const words = useWords()
  const w = words.create
  const main = simple.mainRole(draft)
  const wrong = simple.wrongOf(draft)
  const said = problems.find(problem => problem.path.startsWith('code'))?.message
  const isPrivate = simple.isPrivate(draft)
  return (
    <Group title={w.code}>
      {!simple.hasOtherCode(draft) && (
        <>
          <TextField
            label={w.git}
            help={w.gitHelp}
            placeholder="https://github.com/team/digits.git"
            value={simple.gitOf(draft)}
            wrong={wrong.git ? w[wrong.git] : simple.gitOf(draft) && said}
            onChange={event => setDraft(simple.setGit(draft, 'git', event.target.value))}
          />
          <TextField
            label={w.ref}
            placeholder="main"
            value={simple.refOf(draft)}
            onChange={event => setDraft(simple.setGit(draft, 'ref', event.target.value))}
          />
          <Check
            label={w.private}
            checked={isPrivate}
            onChange={event => setDraft(simple.setPrivate(draft, event.target.checked))}
          />
          {isPrivate && (
            <>
              <TextField
                label={w.user}
                value={textOf(draft, ['code', 'user'])}
                onChange={event => setDraft(simple.setUser(draft, event.target.value))}
              />
              <TextField
                label={w.password}
                type="password"
                autoComplete="new-password"
                help={w.passwordHelp}
                value={simple.passwordOf(draft)}
                onChange={event => setDraft(simple.setPassword(draft, event.target.value))}
              />
            </>
          )}
        </>
      )}
      <div className="whole">
        <TextArea
          label={w.command}
          help={w.commandHelp}
          placeholder="python3 train.py --log_dir /output/training_logs"
          rows={3}
          value={simple.commandOf(draft, main)}
          onChange={event => setDraft(simple.setCommand(draft, event.target.value))}
        />
      </div>
    </Group>
  )
}

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <fieldset className="panel">
      <legend>{title}</legend>
      <div className="body form-grid">{children}</div>
    </fieldset>
  )
}

interface NumberProps {
  label: string
  help?: string
  least: number
  step?: number
  value: string
  change: (value: number) => void
}

function NumberField({ label, help, least, step = 1, value, change }: NumberProps) {
  return (
    <TextField
      label={label}
      help={help}
      type="number"
      min={least}
      step={step}
      value={value}
      onChange={event => {
        const number = event.target.valueAsNumber
        if (Number.isFinite(number) && number >= 0) change(number)
      }}
    />
  )
}
