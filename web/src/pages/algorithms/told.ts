// What an algorithm's document says, in a few words.
import type { Algorithm, AlgorithmView, Input, Param } from '../../api/algorithms.ts'
import type { Column } from '../../ui/list.ts'
import type { Words } from '../../words/en.ts'

type Said = Words['algorithms']

/** What is around its code: a framework of ours, or an image. */
export const around = ({ framework, image }: Pick<Algorithm, 'framework' | 'image'>): string => framework ?? image ?? ''

/** That of the newest version. */
export const frameworkOf = ({ latest }: AlgorithmView): string => (latest ? around(latest) : '')

/** The same, as a column of a list. */
export const frameworkIn = (w: Said): Column<AlgorithmView> => ({
  key: 'framework',
  title: w.framework,
  cell: row => frameworkOf(row) || w.noFramework,
  by: frameworkOf,
})

/** Where its code comes from, in one line. */
export function codeOf({ code }: Algorithm): string {
  if (code == null) return ''
  if (typeof code === 'string') return code
  const { git, ref, ...rest } = code as Record<string, unknown>
  return git ? [git, ref].filter(Boolean).join('#') : JSON.stringify({ ...rest })
}

export const commandOf = ({ command }: Algorithm): string =>
  Array.isArray(command) ? command.join(' ') : String(command ?? '')

/** A value as a person would write it; `–` for none. */
export const asWritten = (value: unknown): string =>
  value === undefined || value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value)

/** The numbers it must lie between; nothing if it may be any. */
export function rangeOf({ min, max }: Param, { range }: Said): string {
  if (min != null && max != null) return range.between(String(min), String(max))
  if (min != null) return range.least(String(min))
  return max == null ? '' : range.most(String(max))
}

/** Everything its value is held to. */
export function limitsOf(param: Param, w: Said): string {
  const choices = param.choices?.length ? w.oneOf(param.choices.map(asWritten).join(', ')) : ''
  const may = [param.fixed && w.fixed, param.required === false && w.optional]
  return [rangeOf(param, w), choices, ...may].filter(Boolean).join('; ')
}

/** Where its data may come from. */
export function acceptedBy(input: Input, w: Said): string {
  const [dataset, place] = [takes(input, 'dataset'), takes(input, 'place')]
  return dataset && place ? w.either : dataset ? w.dataset : w.place
}

/** Whether a channel takes something. One that says nothing takes everything. */
export const takes = ({ accepts }: Input, what: 'dataset' | 'place'): boolean =>
  !accepts?.length || accepts.includes(what)

/** How a program is told where a channel is. */
export const tellings = ({ argument, env }: Pick<Input, 'argument' | 'env'>): string[] =>
  [argument, env && `$${env}`].filter(it => it != null && it !== '') as string[]

/** What it can run on, each in a few words. */
export function runsOn({ needs = {} }: Algorithm, w: Said): string[] {
  const kinds = (needs.accelerators ?? []).map(it => (it === 'none' ? 'CPU' : it))
  return [
    kinds.length > 0 ? kinds.join(' / ') : w.anything,
    ...(needs.accelerators_max != null ? [w.cardsMost(needs.accelerators_max)] : []),
    ...(needs.tasks_max != null ? [w.tasksMost(needs.tasks_max)] : []),
  ]
}
