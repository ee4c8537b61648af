// What a provider's failure is, in our words. Its own text may hold keys, urls and prompts: it goes to the log of the process, as the cause.

import { APICallError } from '@ai-sdk/provider'
import type { ErrorCode } from './code.ts'
import { MillraceError, ProviderError } from './error.ts'

interface Kind {
  readonly code: ErrorCode
  readonly message: string
  readonly retryable: boolean
}

const OVERLOADED: Kind = { code: 'provider_overloaded', message: 'the provider is overloaded', retryable: true }
const RATE_LIMITED: Kind = {
  code: 'provider_rate_limited',
  message: 'the provider limits the rate of calls',
  retryable: true,
}
const UNREACHABLE: Kind = {
  code: 'provider_unreachable',
  message: 'the provider could not be reached',
  retryable: true,
}
const TIMEOUT: Kind = { code: 'provider_timeout', message: 'the provider took too long', retryable: true }
const UNAUTHORIZED: Kind = {
  code: 'provider_unauthorized',
  message: 'the provider did not accept the key',
  retryable: false,
}
const NOT_FOUND: Kind = {
  code: 'provider_model_not_found',
  message: 'the provider has no such model',
  retryable: false,
}
const TOO_LONG: Kind = {
  code: 'provider_context_exceeded',
  message: 'the conversation is longer than the model can read: trim the history',
  retryable: false,
}
const INVALID: Kind = { code: 'provider_invalid_request', message: 'the provider refused the call', retryable: false }
const FAILED: Kind = { code: 'provider_error', message: 'the provider failed', retryable: true }
const OTHER: Kind = { code: 'provider_error', message: 'the provider failed', retryable: false }

/** The words in which providers name what went wrong, wherever in the error they stand. */
const WORDS: readonly (readonly [RegExp, Kind])[] = [
  [/overloaded/i, OVERLOADED],
  [/rate.?limit|too.?many.?requests|insufficient_quota/i, RATE_LIMITED],
  [/context.?(length|window)|prompt is too long|maximum context|too many tokens/i, TOO_LONG],
  [/authentication|invalid.?api.?key|permission_error/i, UNAUTHORIZED],
  [/api_error|internal.?server|server_error/i, FAILED],
  [/invalid_request/i, INVALID],
]

const NETWORK =
  /^(ECONNRESET|ECONNREFUSED|ENOTFOUND|EPIPE|EAI_AGAIN|ETIMEDOUT|UND_ERR_.*)$|fetch failed|terminated|socket hang up|network|other side closed/i

/** A failure of a model call as a typed error. */
export function classify(error: unknown): MillraceError {
  if (MillraceError.isInstance(error)) return error
  const status = APICallError.isInstance(error) ? error.statusCode : undefined
  const kind = kindOf(error, status)
  const retryAfterMs = APICallError.isInstance(error) ? retryAfterOf(error.responseHeaders) : undefined
  return new ProviderError(kind.code, kind.message, {
    retryable: kind.retryable,
    statusCode: status,
    retryAfterMs,
    cause: error,
  })
}

function kindOf(error: unknown, status: number | undefined): Kind {
  if (status !== undefined && status >= 400) return ofStatus(status, textOf(error))
  const network = networkOf(error)
  if (network) return network
  const text = textOf(error)
  const said = WORDS.find(([words]) => words.test(text))
  if (said) return said[1]
  return APICallError.isInstance(error) && error.isRetryable ? FAILED : OTHER
}

function ofStatus(status: number, text: string): Kind {
  if (status === 429) return RATE_LIMITED
  if (status === 529 || status === 503) return OVERLOADED
  if (status === 401 || status === 403) return UNAUTHORIZED
  if (status === 404) return NOT_FOUND
  if (status === 408 || status === 504) return TIMEOUT
  if (status === 413 || /context.?(length|window)|prompt is too long|maximum context|too many tokens/i.test(text))
    return TOO_LONG
  return status >= 500 || status === 409 ? FAILED : INVALID
}

function networkOf(error: unknown): Kind | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if (at.name === 'TimeoutError') return TIMEOUT
    const { code } = at as { code?: unknown }
    if (NETWORK.test(typeof code === 'string' ? code : '') || NETWORK.test(at.message)) return UNREACHABLE
  }
  return undefined
}

/** What an error says of itself, as far as it is of use to tell its kind. */
function textOf(error: unknown): string {
  if (typeof error === 'string') return error
  if (APICallError.isInstance(error)) return `${error.message} ${error.responseBody ?? ''}`.slice(0, 4000)
  const { name, message, type, code } = (error ?? {}) as Record<string, unknown>
  const nested = (error as { error?: unknown } | undefined)?.error
  return [name, message, type, code, nested ? textOf(nested) : '']
    .filter(text => typeof text === 'string')
    .join(' ')
    .slice(0, 4000)
}

function retryAfterOf(headers: Record<string, string> | undefined): number | undefined {
  const ms = Number(headers?.['retry-after-ms'])
  if (headers?.['retry-after-ms'] && ms >= 0) return ms
  const text = headers?.['retry-after']
  if (!text) return undefined
  const seconds = Number(text)
  if (seconds >= 0) return seconds * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}
