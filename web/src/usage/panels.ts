// What is used, made into charts.
import type { components } from '../api/schema.d.ts'
import type { Line } from '../charts/line.ts'
import type { Limit, Series } from '../charts/picture.ts'
import type { Words } from '../words/en.ts'

type Schemas = components['schemas']
export type JobUsage = Schemas['JobUsage']
export type ClusterUsage = Schemas['ClusterUsage']
export type TaskUsage = Schemas['TaskUsage']
type Curve = Schemas['Curve']
export type Figure = keyof Words['usage']['figures']
export type Reason = { reason: string; reason_zh?: string }

/** A chart, and which figures it draws. */
export interface Panel {
  key: PanelKey
  figures: Figure[]
}

export type PanelKey = 'cpu' | 'memory' | 'disk' | 'network' | 'acceleratorUse' | 'acceleratorMemory'

export const PANELS: Panel[] = [
  { key: 'cpu', figures: ['cpu_cores'] },
  { key: 'memory', figures: ['memory_bytes'] },
  { key: 'disk', figures: ['read_bytes_per_s', 'written_bytes_per_s'] },
  { key: 'network', figures: ['received_bytes_per_s', 'sent_bytes_per_s'] },
  { key: 'acceleratorUse', figures: ['accelerator_use'] },
  { key: 'acceleratorMemory', figures: ['accelerator_memory_bytes'] },
]

export type Kind = 'job' | 'role' | 'task' | 'node'

/** A job, a role, a task or a node: whatever has curves. */
export interface Subject {
  name: string
  curves: Partial<Record<Figure, Curve>>
  /** Why figures of it are absent. */
  absent: Partial<Record<Figure, Reason>>
  /** What it may use at most, where that is known. */
  limits: Partial<Record<Figure, number>>
}

/** A reading that came late leaves a bucket empty; more than this is a gap. */
const BRIDGED = 3

/** One curve on the answer's axis of time. What is not known is a gap. */
export function lineOf(curve: Curve | undefined, at_ms: number[]): Line {
  const line: Required<Pick<Line, 'x' | 'y' | 'low' | 'high'>> = { x: [], y: [], low: [], high: [] }
  let missing = 0
  for (const [at, value] of (curve?.mean ?? []).entries()) {
    if (value === null) {
      missing += 1
      continue
    }
    // The place is in the middle of the gap: only that there is nothing matters.
    if (missing > BRIDGED && line.x.length > 0) push(line, ((line.x.at(-1) ?? 0) + (at_ms[at] ?? 0)) / 2, Number.NaN)
    push(line, at_ms[at] ?? 0, value, curve?.min?.[at], curve?.max?.[at])
    missing = 0
  }
  return curve?.min ? line : { x: line.x, y: line.y }
}

function push(
  line: Required<Pick<Line, 'x' | 'y' | 'low' | 'high'>>,
  x: number,
  y: number,
  low?: number | null,
  high?: number | null,
) {
  line.x.push(x)
  line.y.push(y)
  line.low.push(low ?? y)
  line.high.push(high ?? y)
}

const limitsOf = (tasks: TaskUsage[]): Subject['limits'] => {
  const sum = (of: (task: TaskUsage) => number | null | undefined) =>
    tasks.length > 0 && tasks.every(task => of(task) != null)
      ? tasks.reduce((all, task) => all + (of(task) ?? 0), 0)
      : undefined
  const [cpus, memory] = [sum(it => it.limits.cpus), sum(it => it.limits.memory_bytes)]
  return { ...(cpus !== undefined && { cpu_cores: cpus }), ...(memory !== undefined && { memory_bytes: memory }) }
}

/** What several tasks lack is lacking where all of them lack it. */
function absentOf(tasks: TaskUsage[]): Subject['absent'] {
  const [first, ...rest] = tasks
  const all = Object.entries(first?.absent ?? {}).filter(([figure]) => rest.every(it => figure in it.absent))
  return Object.fromEntries(all)
}

const roleOf = (task: string) => task.slice(0, task.lastIndexOf('-'))

/** Limits of sums are known only where every part of them is in the answer. */
const whole = (usage: JobUsage, tasks: TaskUsage[]) => (usage.tasks_left_out > 0 ? {} : limitsOf(tasks))

export function subjectsOf(usage: JobUsage, kind: Exclude<Kind, 'node'>): Subject[] {
  const { tasks, roles, total, job } = usage
  switch (kind) {
    case 'job':
      return [{ name: job, curves: total.curves, absent: absentOf(tasks), limits: whole(usage, tasks) }]
    case 'role':
      return roles.map(({ role, curves }) => {
        const own = tasks.filter(it => roleOf(it.task) === role)
        return { name: role, curves, absent: absentOf(own), limits: whole(usage, own) }
      })
    case 'task':
      return tasks.map(it => ({ name: it.task, curves: it.curves, absent: it.absent, limits: limitsOf([it]) }))
  }
}

/** The nodes that the job has tasks on. */
export function nodesOf(cluster: ClusterUsage, names: Set<string>): Subject[] {
  const own = cluster.nodes.filter(it => names.has(it.name))
  return own.map(({ name, curves, absent }) => ({ name, curves, absent, limits: {} }))
}

/** Colours come again with dashes from here on. */
const DASHED = 8

/** Several figures of several subjects: a colour for each subject, and dashes for the second figure. */
export function seriesOf(
  panel: Panel,
  subjects: Subject[],
  at_ms: number[],
  nameOf: (figure: Figure) => string,
): Series[] {
  return subjects.flatMap((subject, index) =>
    panel.figures.flatMap((figure, second) => {
      const line = lineOf(subject.curves[figure], at_ms)
      if (line.x.length === 0) return []
      const names = [subjects.length > 1 && subject.name, panel.figures.length > 1 && nameOf(figure)]
      const tone = subjects.length > 1 ? (index % DASHED) + second * DASHED : second
      return [{ key: `${subject.name} ${figure}`, label: names.filter(Boolean).join(' ') || subject.name, tone, line }]
    }),
  )
}

/** One line for the limit, if all have the same. */
export function limitOf(panel: Panel, subjects: Subject[], tell: (amount: number) => string): Limit[] {
  const amounts = new Set(subjects.map(it => it.limits[panel.figures[0] as Figure]))
  const [only] = amounts
  return amounts.size === 1 && only !== undefined ? [{ value: only, label: tell(only) }] : []
}

/** Why nothing or not everything is drawn: each reason once, with whose it is. */
export function absences(panel: Panel, subjects: Subject[]): { who: string[]; why: Reason }[] {
  const found = new Map<string, { who: string[]; why: Reason }>()
  for (const { name, absent } of subjects) {
    const why = panel.figures.flatMap(figure => absent[figure] ?? [])[0]
    if (!why) continue
    const known = found.get(why.reason)
    if (known) known.who.push(name)
    else found.set(why.reason, { who: [name], why })
  }
  return [...found.values()]
}
