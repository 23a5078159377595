// The file that a job was made from, and what it became.
import { queryOptions } from '@tanstack/react-query'
import { api, must } from './client.ts'
import type { components } from './schema.d.ts'

type Schemas = components['schemas']
export type PlanView = Schemas['PlanView']
export type RoleView = Schemas['RoleView']
export type OriginalFile = Schemas['OriginalFile']

const at = (job: string) => ({ params: { path: { job } } })

// Neither ever changes.
export const original = (job: string) =>
  queryOptions({
    queryKey: ['job', job, 'original'],
    queryFn: () => must(api.GET('/api/v1/jobs/{job}/original', at(job))),
    staleTime: Number.POSITIVE_INFINITY,
  })

export const plan = (job: string) =>
  queryOptions({
    queryKey: ['job', job, 'plan'],
    queryFn: () => must(api.GET('/api/v1/jobs/{job}/plan', at(job))),
    staleTime: Number.POSITIVE_INFINITY,
  })
