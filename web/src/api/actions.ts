// What people do to things. Every one of them throws an `ApiError` with the reason when it is refused.
import { api, ask, must } from './client.ts'
import type { Planned, Submitted } from './queries.ts'
import type { components } from './schema.d.ts'
import { session } from './session.ts'

type LogIn = components['schemas']['LogIn']

export async function logIn(proof: LogIn) {
  const begun = await must(api.POST('/api/v1/login', { body: proof }))
  session.begin(begun.key)
}

export async function logOut() {
  await must(api.DELETE('/api/v1/session')).catch(() => undefined)
  session.end()
}

const at = (job: string) => ({ params: { path: { job } } })

export const stopJob = (job: string) => must(api.POST('/api/v1/jobs/{job}/stop', at(job)))
export const syncJob = (job: string) =>
  must(api.POST('/api/v1/jobs/{job}/sync', { ...at(job), body: { give_up: false } }))
export const deleteJob = (job: string, force = false) =>
  must(api.DELETE('/api/v1/jobs/{job}', { params: { path: { job }, query: { force } } }))

export const setDuration = (job: string, duration: string) =>
  must(api.POST('/api/v1/jobs/{job}/duration', { ...at(job), body: { max_duration: duration } }))

export const setDescription = (job: string, description: string) =>
  must(api.POST('/api/v1/jobs/{job}/description', { ...at(job), body: { description } }))

/** A text that goes as it was written. */
export const sentAsItIs = {
  bodySerializer: (text: unknown) => String(text),
  headers: { 'content-type': 'application/yaml' },
}

/** What is said about a file beside what stands in it. */
export interface Origin {
  /** The job that is submitted again. */
  from?: string | undefined
  /** For files that have no name inside. */
  name?: string | undefined
  /** What it was called where it came from. */
  file?: string | undefined
  /** Whose it was before it became one of ours. */
  dialect?: string | undefined
  /** In which language it is spoken of. */
  lang?: string | undefined
}

export async function planJob(text: string, origin: Origin): Promise<Planned> {
  const query = { dry_run: true, ...origin }
  return (await must(api.POST('/api/v1/jobs', { params: { query }, body: text, ...sentAsItIs }))) as Planned
}

/** The key makes a second click, or a lost answer, the same job. */
export async function submitJob(text: string, key: string, origin: Origin): Promise<Submitted> {
  const params = { query: origin, header: { 'Idempotency-Key': key } }
  return (await must(api.POST('/api/v1/jobs', { params, body: text, ...sentAsItIs }))) as Submitted
}

/** The same file once more, with the secrets of the first time: the next version. */
export async function runAgain(id: string): Promise<Submitted> {
  const { spec } = await must(api.GET('/api/v1/jobs/{job}', at(id)))
  return submitJob(JSON.stringify(spec), newKey(), { from: id })
}

/** A key for one submission and its repetitions. */
export const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), it => it.toString(16).padStart(2, '0')).join('')

export const addVolume = (body: components['schemas']['NewVolume']) => must(api.POST('/api/v1/volumes', { body }))
export const testVolume = (volume: string) =>
  must(api.POST('/api/v1/volumes/{volume}/test', { params: { path: { volume } } }))
export const removeVolume = (volume: string) =>
  must(api.DELETE('/api/v1/volumes/{volume}', { params: { path: { volume } } }))

export const setSecret = (name: string, value: string) =>
  ask(`/api/v1/secrets/${encodeURIComponent(name)}`, { method: 'PUT', body: value })
export const removeSecret = (name: string) => must(api.DELETE('/api/v1/secrets/{name}', { params: { path: { name } } }))
