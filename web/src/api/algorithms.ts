// Algorithms: code that is used again, with its channels and parameters.
import { queryOptions } from '@tanstack/react-query'
import { sentAsItIs } from './actions.ts'
import { api, must } from './client.ts'
import type { components } from './schema.d.ts'

type Schemas = components['schemas']
export type Input = Schemas['InputSlot']
export type Output = Schemas['OutputSlot']
export type Needs = Schemas['Needs']

/** A schema cannot say that something is a text, a number or a truth. */
export type Param = Omit<Schemas['ParamRule'], 'default' | 'choices'> & { default?: unknown; choices?: unknown[] }
export type Algorithm = Omit<Schemas['Algorithm'], 'code' | 'command' | 'params'> & {
  code?: unknown
  command: unknown
  params?: Record<string, Param>
}
export type AlgorithmVersionView = Omit<Schemas['AlgorithmVersionView'], 'document'> & { document: Algorithm }
export type AlgorithmVersionSummary = Schemas['AlgorithmVersionSummary']
export type AlgorithmView = Schemas['AlgorithmView']
export type AlgorithmDetail = Schemas['AlgorithmDetail']

/** `mnist-mlp@2` */
export const versionName = (it: { algorithm: string; version: number }) => `${it.algorithm}@${it.version}`

const at = (algorithm: string) => ({ params: { path: { algorithm } } })
const versionAt = (algorithm: string, version: string) => ({ params: { path: { algorithm, version } } })

export const algorithms = () =>
  queryOptions({
    queryKey: ['algorithms'],
    queryFn: (): Promise<AlgorithmView[]> => must(api.GET('/api/v1/algorithms')),
  })

export const algorithm = (name: string) =>
  queryOptions({
    queryKey: ['algorithms', name],
    queryFn: (): Promise<AlgorithmDetail> => must(api.GET('/api/v1/algorithms/{algorithm}', at(name))),
  })

export const algorithmVersion = (name: string, version: string) =>
  queryOptions({
    queryKey: ['algorithms', name, version],
    queryFn: (): Promise<AlgorithmVersionView> =>
      must(api.GET('/api/v1/algorithms/{algorithm}/versions/{version}', versionAt(name, version))),
  })

/** What is to be known of it is said in a language. */
export function addAlgorithm(text: string, isOnlyChecked: boolean, lang: string): Promise<AlgorithmVersionView> {
  const params = { query: { dry_run: isOnlyChecked, lang } }
  return must(api.POST('/api/v1/algorithms', { params, body: text, ...sentAsItIs }))
}

export const forgetAlgorithm = (name: string) => must(api.DELETE('/api/v1/algorithms/{algorithm}', at(name)))

export const forgetAlgorithmVersion = (name: string, version: number) =>
  must(api.DELETE('/api/v1/algorithms/{algorithm}/versions/{version}', versionAt(name, String(version))))

/** What may stand in a document, for completion. */
export const schema = () =>
  queryOptions({
    queryKey: ['schema', 'algorithm'],
    queryFn: () => must(api.GET('/api/v1/schema/algorithm')),
    staleTime: Number.POSITIVE_INFINITY,
  })
