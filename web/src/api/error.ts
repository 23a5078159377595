import type { components } from './schema.d.ts'

export type ErrorBody = components['schemas']['ErrorBody']

/** The server said no, or nobody answered (`status` 0). */
export class ApiError extends Error {
  readonly status: number
  readonly body: ErrorBody

  constructor(status: number, body: ErrorBody) {
    super(body.message)
    this.status = status
    this.body = body
  }
}

/** Nobody answered: asking again may help. */
export const isAway = (error: unknown): boolean => error instanceof ApiError && error.status === 0

export function isErrorBody(value: unknown): value is ErrorBody {
  return typeof value === 'object' && value !== null && 'code' in value && 'message' in value
}

export function asError(status: number, body: unknown): ApiError {
  if (isErrorBody(body)) return new ApiError(status, body)
  return new ApiError(status, { code: status === 0 ? 'away' : 'unreadable', message: `${status}` })
}

/** What a person is told in one language; what was never said in it is said in English. */
interface Told {
  message: string
  message_zh?: string
  hint?: string | null
  hint_zh?: string | null
}

/** The same in the language of the page. */
export function spoken<T extends Told>(told: T, language: 'en' | 'zh'): T {
  if (language === 'en') return told
  return { ...told, message: told.message_zh || told.message, hint: told.hint_zh || (told.hint ?? null) }
}

/** What went wrong, and what to do about it, for whoever reads the page. */
export function tellingOf(error: unknown, language: 'en' | 'zh'): { message: string; hint: string | null } {
  if (!(error instanceof ApiError))
    return { message: error instanceof Error ? error.message : String(error), hint: null }
  const { message, hint } = spoken(error.body, language)
  return { message, hint: hint ?? null }
}
