// What stands side by side, and where things come from.
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, ask, must } from './client.ts'
import type { components } from './schema.d.ts'

type Schemas = components['schemas']
export type Comparison = Schemas['Comparison']
export type ComparedRow = Schemas['ComparedRow']
export type ComparedJob = Schemas['ComparedJob']
export type RowKind = Schemas['RowKind']
export type Delta = Schemas['Delta']
export type Direction = Schemas['Direction']
export type Versions = Schemas['Versions']
export type VersionRow = Schemas['VersionRow']
export type VersionMetric = Schemas['VersionMetric']
export type Lineage = Schemas['Lineage']
export type LineageNode = Schemas['LineageNode']

/** As many as the server takes at once. */
export const COMPARED_MAX = 20
const SOMETIMES_MS = 4_000

export interface Wanted {
  jobs: string[]
  same: boolean
  metric: string | null
}

export const comparison = ({ jobs, same, metric }: Wanted) =>
  queryOptions({
    queryKey: ['compare', jobs, same, metric],
    queryFn: () => {
      const query = { jobs: jobs.join(','), all: same, ...(metric ? { metric } : {}) }
      return must(api.GET('/api/v1/compare', { params: { query } }))
    },
    refetchInterval: SOMETIMES_MS,
    placeholderData: keepPreviousData,
    enabled: jobs.length > 1,
  })

export const patchPath = (from: string, to: string) =>
  `/api/v1/compare/code?jobs=${encodeURIComponent(from)},${encodeURIComponent(to)}`

/** What became of the code from one job to another. It is what it was when they ran, so it is asked for once. */
export const patch = (from: string, to: string) =>
  queryOptions({
    queryKey: ['compare', 'code', from, to],
    queryFn: async () => (await ask(patchPath(from, to))).text(),
    staleTime: Number.POSITIVE_INFINITY,
  })

export const versions = (job: string, metric: string | null, before: number | null) =>
  queryOptions({
    queryKey: ['job', job, 'versions', metric, before],
    queryFn: () => {
      const query = { ...(metric ? { metric } : {}), ...(before ? { before } : {}) }
      return must(api.GET('/api/v1/jobs/{job}/versions', { params: { path: { job }, query } }))
    },
    refetchInterval: SOMETIMES_MS,
    placeholderData: keepPreviousData,
  })

export const lineage = (job: string) =>
  queryOptions({
    queryKey: ['job', job, 'lineage'],
    queryFn: () => must(api.GET('/api/v1/jobs/{job}/lineage', { params: { path: { job } } })),
  })
