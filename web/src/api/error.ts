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

export function isErrorBody(value: unknown): value is ErrorBody {
  return typeof value === 'object' && value !== null && 'code' in value && 'message' in value
}

export function asError(status: number, body: unknown): ApiError {
  if (isErrorBody(body)) return new ApiError(status, body)
  return new ApiError(status, { code: status === 0 ? 'away' : 'unreadable', message: `${status}` })
}
