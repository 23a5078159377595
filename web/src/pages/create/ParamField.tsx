import type { ReactNode } from 'react'
import type { Param } from '../../api/algorithms.ts'
import { Button } from '../../ui/Button.tsx'
import { Check, SelectField, TextField } from '../../ui/Field.tsx'
import { useWords } from '../../words/index.tsx'
import { asWritten, rangeOf } from '../algorithms/told.ts'
import { isShowable, leaveOut, paramAt, paramOf } from './algorithm.ts'
import { setField } from './draft.ts'
import { NumberField } from './NumberField.tsx'
import { numberOrWord } from './pro.ts'
import type { Put } from './put.ts'
import { TypedField } from './TypedField.tsx'

interface Props {
  put: Put
  name: string
  param: Param
}

/** One parameter of an algorithm, with the control that its type wants. */
export function ParamField({ put, name, param }: Props) {
  const value = paramOf(put.draft, name)
  if (param.fixed) return <Fixed put={put} name={name} param={param} />
  if (value === null) return <LeftOut put={put} name={name} param={param} />
  const shown = value ?? param.default
  const isOdd = value !== undefined && !isShowable(param, value)
  return <Open put={put} name={name} param={param} shown={shown} isOdd={isOdd} />
}

/** What is to be said about it beside its name. */
function useHelp({ param }: Props): string {
  const { pick, algorithms } = useWords()
  const isNeeded = param.required !== false && param.default == null
  const spelt = typeof param.default === 'boolean' ? (param.default ? pick.on : pick.off) : asWritten(param.default)
  const has = param.default == null ? '' : pick.defaultIs(spelt)
  return [param.description, rangeOf(param, algorithms), has, isNeeded && pick.required].filter(Boolean).join(' · ')
}

function Fixed(props: Props) {
  const { pick: w } = useWords()
  const { put, name, param } = props
  const value = paramOf(put.draft, name)
  const back = (
    <Button tight onClick={() => put.setDraft(setField(put.draft, paramAt(name), null))}>
      {w.backToFixed}
    </Button>
  )
  return (
    <TextField
      label={name}
      readOnly
      title={w.fixed}
      value={value === undefined ? asWritten(param.default) : asWritten(value)}
      wrong={put.said(paramAt(name))}
      help={[param.description, w.fixed].filter(Boolean).join(' · ')}
      beside={value === undefined ? undefined : back}
    />
  )
}

function LeftOut({ put, name, param }: Props) {
  const { pick: w } = useWords()
  return (
    <TextField
      label={name}
      readOnly
      value=""
      placeholder={w.leftOut}
      wrong={put.said(paramAt(name))}
      help={param.description}
      beside={
        <Button aria-label={w.bringBack(name)} onClick={() => put.setDraft(setField(put.draft, paramAt(name), null))}>
          {w.bringBackShort}
        </Button>
      }
    />
  )
}

/** A parameter that is there to be set. */
function Open({ shown, isOdd, ...props }: Props & { shown: unknown; isOdd: boolean }) {
  const { put, name, param } = props
  const help = useHelp(props)
  const change = (value: unknown) => put.setDraft(setField(put.draft, paramAt(name), value))
  const around = { label: name, help, wrong: put.said(paramAt(name)), beside: <LeaveOut {...props} /> }
  if (isOdd) return <TypedField {...around} value={asWritten(shown)} change={text => change(numberOrWord(text))} />
  if (param.choices?.length) return <Choices {...around} choices={param.choices} shown={shown} change={change} />
  switch (param.type) {
    case 'number':
    case 'integer':
      return (
        <NumberField
          {...around}
          least={param.min ?? undefined}
          most={param.max ?? undefined}
          step={param.type === 'integer' ? 1 : 'any'}
          value={shown == null ? '' : String(shown)}
          change={change}
        />
      )
    case 'boolean':
      return (
        <Check
          {...around}
          role="switch"
          checked={shown === true}
          // Off is said as well: it may not be what the algorithm takes otherwise.
          onChange={event => change(event.target.checked)}
        />
      )
    case 'text':
      return <TypedField {...around} value={shown == null ? '' : String(shown)} change={change} />
  }
}

function LeaveOut({ put, name, param }: Props): ReactNode {
  const { pick: w } = useWords()
  if (param.required !== false) return null
  return (
    <Button aria-label={w.leaveOut(name)} onClick={() => put.setDraft(leaveOut(put.draft, name))}>
      {w.leaveOutShort}
    </Button>
  )
}

interface ChoicesProps {
  label: string
  help: string
  wrong: string | undefined
  beside: ReactNode
  choices: unknown[]
  shown: unknown
  change: (value: unknown) => void
}

function Choices({ choices, shown, change, ...around }: ChoicesProps) {
  const text = shown == null ? '' : asWritten(shown)
  const spelt = choices.map(asWritten)
  return (
    <SelectField
      {...around}
      value={text}
      onChange={event => change(choices[spelt.indexOf(event.target.value)] ?? event.target.value)}
    >
      {!spelt.includes(text) && <option>{text}</option>}
      {spelt.map(it => (
        <option key={it}>{it}</option>
      ))}
    </SelectField>
  )
}
