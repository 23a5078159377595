import { queryOptions, useQueries } from '@tanstack/react-query'
import { useEffect, useMemo, useRef } from 'react'
import { api, must } from '../api/client.ts'
import { isAway } from '../api/error.ts'
import * as queries from '../api/queries.ts'
import type { components } from '../api/schema.d.ts'
import type { Line, Range } from '../charts/line.ts'
import { useLives, useNews } from './Followed.tsx'
import { grouped } from './grouped.ts'
import { type News, seriesId } from './news.ts'
import { type Across, type CurveView, countOf, joined, lineOf, type XKind } from './pieces.ts'

export type SeriesSummary = components['schemas']['SeriesSummary']

/** A job whose curves are drawn. */
export interface CurveJob {
  id: string
  /** Such as `digits@3`. */
  label: string
  isLive: boolean
  startMs: number
}

export interface Wanted {
  /** The metric. */
  name: string
  task?: string | undefined
  group?: string | undefined
  x: XKind
  /** The part of the axis that is looked at; everything if there is none. */
  range: Range | null
  buckets: number
}

/** One line of a chart: all attempts of a task, one after the other. */
export interface Curve {
  key: string
  job: CurveJob
  task: string
  group: string
  source: CurveView['source']
  line: Line
}

interface LoadedCurve extends Omit<CurveView, 'points' | 'buckets'> {
  id: string
  /** How many points of the series are in the line. */
  count: number
  line: Line
}

interface Loaded {
  fetchedAt: number
  curves: LoadedCurve[]
  leftOut: number
}

const SLOWLY_MS = 3_000
const OFTEN_MS = 2_000
/** A part that is looked at is fetched with some beside it, so that lines go on to the edge. */
const BESIDE = 0.04

/** The server counts in whole steps and milliseconds. */
function asked({ x, range }: Wanted, startMs: number) {
  if (!range) return {}
  const [offset, beside] = [x === 'span' ? startMs : 0, (range[1] - range[0]) * BESIDE]
  return { from: Math.floor(range[0] - beside + offset), to: Math.ceil(range[1] + beside + offset) }
}

function pictureOf(job: CurveJob, wanted: Wanted, news: News | undefined) {
  const { name, task, group, x, buckets, range } = wanted
  const query = { name, task, group, buckets, x: x === 'step' ? x : 'time', ...asked(wanted, job.startMs) } as const
  const across: Across = { kind: x, startMs: job.startMs }
  return queryOptions({
    queryKey: ['job', job.id, 'curve', query, across],
    queryFn: async (): Promise<Loaded> => {
      const fetchedAt = Date.now()
      const answer = await must(
        api.GET('/api/v1/jobs/{job}/metrics/points', { params: { path: { job: job.id }, query } }),
      )
      // A name with commas in it is also a list of names to the server.
      const curves = answer.curves.filter(it => it.name === name).map(it => loaded(it, across))
      return { fetchedAt, curves, leftOut: answer.left_out }
    },
    structuralSharing: false,
    refetchInterval: ({ state }) => {
      // A line to the server carries so many series and no more; the others are asked for now and then.
      const isFollowed = range === null && state.data?.curves.every(it => news?.knows(it.id))
      return (job.isLive && !isFollowed) || isAway(state.error) ? SLOWLY_MS : false
    },
  })
}

function loaded({ points, buckets, ...head }: CurveView, across: Across): LoadedCurve {
  const view = { ...head, points, buckets }
  return { ...head, id: seriesId(head), count: countOf(view), line: lineOf(view, across) }
}

/** The same list as long as the same things are in it. */
function useSame<T>(items: T[]): T[] {
  const kept = useRef(items)
  const isSame = kept.current.length === items.length && items.every((it, at) => it === kept.current[at])
  if (!isSame) kept.current = items
  return kept.current
}

/** Until another part of a curve has come, what is there of it stays. */
function useLast(jobs: CurveJob[], { name, task, group, x }: Wanted, results: { data: Loaded | undefined }[]) {
  const kept = useRef(new Map<string, Loaded>())
  return jobs.map(({ id }, at) => {
    const key = JSON.stringify([id, name, task, group, x])
    const picture = results[at]?.data ?? kept.current.get(key)
    if (picture) kept.current.set(key, picture)
    return picture
  })
}

/** Every curve of one metric, of one job or of several. They grow by themselves below `Followed`. */
export function useCurves(jobs: CurveJob[], wanted: Wanted) {
  const lives = useLives()
  const news = useNews(lives)
  const results = useQueries({ queries: jobs.map(job => pictureOf(job, wanted, lives.get(job.id)?.news)) })
  const pictures = useSame(useLast(jobs, wanted, results))
  const followed = wanted.range === null

  // biome-ignore lint/correctness/useExhaustiveDependencies: looked at when something came, and not at each drawing
  useEffect(() => {
    for (const [at, job] of jobs.entries()) {
      const [live, picture] = [lives.get(job.id), results[at]?.data]
      if (live && picture && followed && isOutdated(picture, live.news, wanted))
        results[at]?.refetch({ cancelRefetch: false })
    }
  }, [news, lives])

  // biome-ignore lint/correctness/useExhaustiveDependencies: news are what changes what `lives` know
  const curves = useMemo(
    () =>
      jobs.flatMap((job, at) => {
        const [news, picture] = [followed ? lives.get(job.id)?.news : undefined, pictures[at]]
        return picture ? grown(job, picture, news, { kind: wanted.x, startMs: job.startMs }) : []
      }),
    [pictures, news, lives, wanted.x, followed, jobs],
  )
  return {
    curves,
    leftOut: pictures.reduce((sum, it) => sum + (it?.leftOut ?? 0), 0),
    isLoading: results.some(it => it.isLoading),
    error: results.find(it => it.error)?.error ?? null,
  }
}

/** Something came that cannot be put behind what is there, or so much that a new picture is cheaper. */
function isOutdated({ curves, fetchedAt }: Loaded, news: News, { name, task, group }: Wanted): boolean {
  const has = new Set(curves.map(it => it.id))
  const isMeant = (it: CurveView) => (!task || it.task === task) && (group === undefined || it.group === group)
  if (news.named(name).some(it => isMeant(it) && !has.has(seriesId(it)))) return true
  return curves.some(it => {
    const pieces = news.after(it.id, it.count, fetchedAt)
    return pieces === null ? isNewest(it, curves) : pieces.length > PIECES_MAX
  })
}

const PIECES_MAX = 40

const lineKey = (it: Omit<CurveView, 'attempt' | 'name'>) => JSON.stringify([it.task, it.source, it.group])

/** Of attempts that were begun again only a part is shown, and news of them mean nothing. */
const isNewest = (curve: LoadedCurve, all: LoadedCurve[]) =>
  !all.some(it => lineKey(it) === lineKey(curve) && it.attempt > curve.attempt)

function grown(job: CurveJob, { curves, fetchedAt }: Loaded, news: News | undefined, across: Across): Curve[] {
  const whole = (it: LoadedCurve): Line => {
    const more = isNewest(it, curves) ? news?.after(it.id, it.count, fetchedAt) : null
    return more?.length ? joined([it.line, ...more.map(piece => lineOf(piece, across))]) : it.line
  }
  return [...grouped(curves, lineKey)].flatMap(([key, attempts]) => {
    const [first] = attempts
    if (!first) return []
    const line = joined(attempts.toSorted((a, b) => a.attempt - b.attempt).map(whole))
    return [{ key: `${job.id} ${key}`, job, task: first.task, group: first.group, source: first.source, line }]
  })
}

const summariesOf = (job: CurveJob) =>
  queryOptions({
    queryKey: ['job', job.id, 'metrics'],
    queryFn: () => must(api.GET('/api/v1/jobs/{job}/metrics', { params: { path: { job: job.id } } })),
    refetchInterval: ({ state }) => (job.isLive || state.data?.is_being_read || isAway(state.error) ? OFTEN_MS : false),
  })

/** What series there are of each job, with what they come to. */
export function useSeries(jobs: CurveJob[]) {
  const results = useQueries({ queries: jobs.map(summariesOf) })
  const views = useSame(results.map(it => it.data))
  return { views, isLoading: results.some(it => it.isLoading), error: results.find(it => it.error)?.error ?? null }
}

/** Jobs by what they are called, as curves need to know them. Those that are not there are left out. */
export function useCurveJobs(names: string[]): CurveJob[] {
  const details = useQueries({ queries: names.map(name => queries.job(name)) })
  const found = details.flatMap(({ data }) => (data ? [curveJob(data)] : []))
  const key = JSON.stringify(found)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same jobs, as long as nothing that matters here changes
  return useMemo(() => found, [key])
}

export const curveJob = (job: queries.JobDetail): CurveJob => ({
  id: job.id,
  label: queries.label(job),
  isLive: job.ended_at_ms == null,
  startMs: job.started_at_ms ?? job.created_at_ms,
})
