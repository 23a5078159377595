// Datasets: named data with numbered versions.
import { queryOptions } from '@tanstack/react-query'
import { api, must } from './client.ts'
import type { components } from './schema.d.ts'

type Schemas = components['schemas']
export type DatasetView = Schemas['DatasetView']
export type DatasetDetail = Schemas['DatasetDetail']
export type DatasetVersionView = Schemas['DatasetVersionView']
export type NewDatasetVersion = Schemas['NewDatasetVersion']

/** `mnist@3` */
export const versionName = (it: { dataset: string; version: number }) => `${it.dataset}@${it.version}`

const at = (dataset: string) => ({ params: { path: { dataset } } })

export const datasets = () => queryOptions({ queryKey: ['datasets'], queryFn: () => must(api.GET('/api/v1/datasets')) })

export const dataset = (name: string) =>
  queryOptions({ queryKey: ['datasets', name], queryFn: () => must(api.GET('/api/v1/datasets/{dataset}', at(name))) })

export const addDataset = (body: NewDatasetVersion) => must(api.POST('/api/v1/datasets', { body }))
export const forgetDataset = (name: string) => must(api.DELETE('/api/v1/datasets/{dataset}', at(name)))

export const forgetDatasetVersion = (dataset: string, version: number) =>
  must(
    api.DELETE('/api/v1/datasets/{dataset}/versions/{version}', {
      params: { path: { dataset, version: String(version) } },
    }),
  )
