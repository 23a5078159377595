// Which charts there are, in which order, and what their lines are called.
import { grouped } from '../../../curves/grouped.ts'
import type { CurveJob, SeriesSummary } from '../../../curves/useCurves.ts'

/** A series of a job. */
export interface Found {
  job: CurveJob
  series: SeriesSummary
}

/** Everything that goes into one chart. */
export interface Metric {
  name: string
  better: SeriesSummary['better']
  found: Found[]
}

export interface Section {
  /** What its metrics' names begin with; empty for those with nothing before them. */
  title: string
  metrics: Metric[]
}

export interface Chosen {
  task: string | undefined
  group: string | undefined
  find: string
}

/** Losses first, then what grows when it gets better, then the rest. */
const RANKS = { lower: 0, higher: 1 }
const rank = ({ better, name }: Metric) => (better ? RANKS[better] : 2) + (/loss|acc/i.test(name) ? 0 : 0.5)

const prefix = (name: string) => (name.includes('/') ? name.slice(0, name.indexOf('/')) : '')

export function metricsOf(found: Found[], { task, group, find }: Chosen): Metric[] {
  const text = find.toLowerCase()
  const chosen = found.filter(
    ({ series }) =>
      (!task || series.task === task) &&
      (group === undefined || series.group === group) &&
      series.name.toLowerCase().includes(text),
  )
  const byName = [...grouped(chosen, it => it.series.name)]
  const metrics = byName.map(([name, of]) => ({ name, better: of[0]?.series.better, found: of }))
  return metrics.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
}

/** By what stands before the first slash, as TensorBoard does it. */
export function sectionsOf(metrics: Metric[]): Section[] {
  const sections = [...grouped(metrics, it => prefix(it.name))].map(([title, of]) => ({ title, metrics: of }))
  const first = (section: Section) => (section.title === '' ? -1 : Math.min(...section.metrics.map(rank)))
  return sections.sort((a, b) => first(a) - first(b) || a.title.localeCompare(b.title))
}

type Place = { job: { id: string }; task: string; group: string; source: string }

export const placeKey = ({ job, task, group, source }: Place) => JSON.stringify([job.id, task, group, source])

export const placesOf = (found: Found[]): Place[] => found.map(({ job, series }) => ({ job, ...series }))

/** A colour for each task and group of each job, the same in all charts. */
export function tonesOf(found: Found[]): Map<string, number> {
  const keys = [...new Set(placesOf(found).map(placeKey))]
  return new Map(keys.map((key, index) => [key, index]))
}

interface Named {
  job: CurveJob
  task: string
  group: string
  source: string
}

/** What tells a line from the others of its chart, and nothing more. */
export function labelsOf(lines: Named[], noGroup: string): string[] {
  const varies = (of: (it: Named) => string) => new Set(lines.map(of)).size > 1
  const [byJob, byTask, byGroup] = [varies(it => it.job.id), varies(it => it.task), varies(it => it.group)]
  const bySource = hasTwins(lines)
  return lines.map(it => {
    const parts = [byJob && it.job.label, byTask && it.task, byGroup && (it.group || noGroup), bySource && it.source]
    return parts.filter(Boolean).join(' · ') || it.task
  })
}

/** Two lines that only their sources tell apart. */
const hasTwins = (lines: Named[]) => new Set(lines.map(it => placeKey({ ...it, source: '' }))).size < lines.length

/** One line of a chart, whether it was fetched or not. */
export interface ChartLine extends Named {
  key: string
  label: string
  tone: number
  attempts: SeriesSummary[]
}

/** Of a series, the line that it is an attempt of. */
export const lineKey = (it: { task: string; source: string; group: string }) =>
  JSON.stringify([it.task, it.source, it.group])

export function linesOf({ found }: Metric, tones: Map<string, number>, noGroup: string): ChartLine[] {
  const lines = [...grouped(found, it => `${it.job.id} ${lineKey(it.series)}`)].flatMap(([key, [first, ...more]]) => {
    if (!first) return []
    const { job, series } = first
    const place = { job, task: series.task, group: series.group, source: series.source }
    return [{ key, ...place, tone: tones.get(placeKey(place)) ?? 0, attempts: [series, ...more.map(it => it.series)] }]
  })
  const labels = labelsOf(lines, noGroup)
  return lines.map((line, at) => ({ ...line, label: labels[at] ?? line.key }))
}

/** What the attempts of one line come to together. */
export function outcome(found: SeriesSummary[]) {
  const newest = found.toSorted((a, b) => a.attempt - b.attempt).at(-1)
  const extremes = (of: (it: SeriesSummary) => SeriesSummary['least']) => found.flatMap(it => of(it) ?? [])
  return {
    last: newest && { value: newest.last, step: newest.last_step },
    least: extremes(it => it.least).toSorted((a, b) => a.value - b.value)[0],
    greatest: extremes(it => it.greatest).toSorted((a, b) => b.value - a.value)[0],
    notFinite: found.reduce((sum, it) => sum + it.not_finite, 0),
    points: found.reduce((sum, it) => sum + it.points, 0),
  }
}
