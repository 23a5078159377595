// What the pages read. Everything that is asked of the server has its name here once.
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, ask, must } from './client.ts'
import { asError, isAway } from './error.ts'
import type { components } from './schema.d.ts'

type Schemas = components['schemas']
export type JobSummary = Schemas['JobSummary']
export type JobDetail = Schemas['JobDetail']
export type JobState = Schemas['JobState']
export type TaskState = Schemas['TaskState']
export type RunView = Schemas['RunView']
export type EventView = Schemas['EventView']
export type Action = Schemas['Action']
export type NodeView = Schemas['NodeView']
export type Resources = Schemas['Resources']
export type Planned = Schemas['Planned']
export type Submitted = Schemas['Submitted']
export type VolumeView = Schemas['VolumeView']
export type VolumeCheck = Schemas['VolumeCheck']
export type Volume = Schemas['Volume']
export type FileView = Schemas['FileView']

/** How often what changes by itself is looked at again. */
const OFTEN_MS = 1_500
const SOMETIMES_MS = 4_000

export type Sort = 'newest' | 'oldest' | 'name' | '-name'

export interface JobFilter {
  state?: string
  name?: string
  tag?: string
  owner?: string
  q?: string
  node?: string
  since_ms?: number
  until_ms?: number
  sort?: Sort
  cursor?: string
  limit?: number
}

export const about = () =>
  queryOptions({
    queryKey: ['about'],
    queryFn: () => must(api.GET('/api/v1/about')),
    staleTime: Number.POSITIVE_INFINITY,
  })

export const jobs = (filter: JobFilter) =>
  queryOptions({
    queryKey: ['jobs', filter],
    queryFn: () => must(api.GET('/api/v1/jobs', { params: { query: filter } })),
    refetchInterval: OFTEN_MS,
    placeholderData: keepPreviousData,
  })

export const job = (name: string) =>
  queryOptions({
    queryKey: ['job', name],
    queryFn: () => must(api.GET('/api/v1/jobs/{job}', { params: { path: { job: name } } })),
    refetchInterval: ({ state }) => {
      // A job that is not there does not come by being asked for.
      if (state.data === undefined && state.error && !isAway(state.error)) return false
      return state.data?.ended_at_ms == null ? OFTEN_MS : SOMETIMES_MS
    },
  })

/** More pages than this of one job's events nobody reads. */
const EVENT_PAGES_MAX = 200

/** Everything that happened to a job, oldest first. What is known is not asked for again. */
export const jobEvents = (name: string) =>
  queryOptions({
    queryKey: ['job', name, 'events'],
    queryFn: async ({ client, queryKey }): Promise<EventView[]> => {
      const all = [...(client.getQueryData<EventView[]>(queryKey) ?? [])]
      for (let page = 0; page < EVENT_PAGES_MAX; page += 1) {
        const query = { after: all.at(-1)?.seq ?? 0 }
        const { events, next } = await must(
          api.GET('/api/v1/jobs/{job}/events', { params: { path: { job: name }, query } }),
        )
        all.push(...events)
        if (next == null) break
      }
      return all
    },
    refetchInterval: OFTEN_MS,
  })

export const explanation = (name: string, lang: string) =>
  queryOptions({
    queryKey: ['job', name, 'explain', lang],
    queryFn: () => must(api.GET('/api/v1/jobs/{job}/explain', { params: { path: { job: name }, query: { lang } } })),
    refetchInterval: OFTEN_MS,
  })

export const versions = (name: string) =>
  queryOptions({
    queryKey: ['job', name, 'versions'],
    queryFn: () => must(api.GET('/api/v1/jobs/{job}/versions', { params: { path: { job: name } } })),
    staleTime: SOMETIMES_MS,
  })

export const environment = (name: string, task: string) =>
  queryOptions({
    queryKey: ['job', name, 'environment', task],
    queryFn: () =>
      must(api.GET('/api/v1/jobs/{job}/environment', { params: { path: { job: name }, query: { task } } })),
    refetchInterval: SOMETIMES_MS,
  })

export const nodes = () =>
  queryOptions({ queryKey: ['nodes'], queryFn: () => must(api.GET('/api/v1/nodes')), refetchInterval: SOMETIMES_MS })

export const volumes = () => queryOptions({ queryKey: ['volumes'], queryFn: () => must(api.GET('/api/v1/volumes')) })

export const secrets = () => queryOptions({ queryKey: ['secrets'], queryFn: () => must(api.GET('/api/v1/secrets')) })

export const jobFileSchema = () =>
  queryOptions({
    queryKey: ['schema'],
    queryFn: () => must(api.GET('/api/v1/schema')),
    staleTime: Number.POSITIVE_INFINITY,
  })

export const files = (at: string) =>
  queryOptions({ queryKey: ['files', at], queryFn: () => listFiles(at), refetchInterval: SOMETIMES_MS })

/** The list comes line by line; one that broke off ends with why. */
async function listFiles(at: string): Promise<FileView[]> {
  const text = await (await ask(`/api/v1/files?at=${encodeURIComponent(at)}`)).text()
  const lines = text.split('\n').filter(line => line !== '')
  return lines.map(line => {
    const item = JSON.parse(line) as Schemas['FileLine']
    if ('error' in item) throw asError(502, item.error)
    return item.found
  })
}

/** A version of something, most often of a job, by the name people call it. */
export const label = (it: { name: string; version: number }) => `${it.name}@${it.version}`
