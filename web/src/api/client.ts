// One client for everything the console asks. It knows the session, and nothing else.
import createClient, { type Middleware } from 'openapi-fetch'
import { type ApiError, asError } from './error.ts'
import type { paths } from './schema.d.ts'
import { session, sessionHeaders } from './session.ts'

const withSession: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(sessionHeaders())) request.headers.set(name, value)
    return request
  },
  async onResponse({ request, response }) {
    if (!response.ok)
      noticeEnd(
        request.url,
        asError(
          response.status,
          await response
            .clone()
            .json()
            .catch(() => null),
        ),
      )
    return undefined
  },
  onError: () => asError(0, null),
}

/** A key that the server no longer takes is forgotten, and the page of the log-in comes. */
function noticeEnd(url: string, { status, body }: ApiError) {
  const isOver = status === 401 || body.code === 'not_from_console'
  if (isOver && session.key() !== null && !url.endsWith('/login')) session.end()
}

export const api = createClient<paths>({ baseUrl: location.origin })
api.use(withSession)

type Answer<T> = { data?: T; error?: unknown; response: Response }

/** What was asked for, or an `ApiError`. */
export async function must<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer
  if (!response.ok) throw asError(response.status, error)
  return data as T
}

/** For answers that are no JSON. */
export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...sessionHeaders(), ...init.headers }
  const response = await fetch(path, { ...init, headers }).catch(() => {
    throw asError(0, null)
  })
  if (response.ok) return response
  const error = asError(response.status, await response.json().catch(() => null))
  noticeEnd(path, error)
  throw error
}

/** Has the browser load a path by itself: it gets a pass for it, which is good for a minute. */
export async function download(path: string) {
  const pass = await must(api.POST('/api/v1/session/pass', { body: { path } }))
  const link = document.createElement('a')
  link.href = pass.path
  link.download = ''
  link.click()
}
