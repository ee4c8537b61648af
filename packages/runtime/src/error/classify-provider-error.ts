// Maps the errors of providers to error codes. A provider's own text may contain keys, URLs and prompts, so it goes only to
// the logger, as the cause.

import { APICallError } from '@ai-sdk/provider'
import { MillraceError, ProviderError } from './error.ts'
import type { ErrorCode } from './error-codes.ts'

interface ProviderFailure {
  readonly code: ErrorCode
  readonly message: string
  readonly retryable: boolean
}

const OVERLOADED: ProviderFailure = {
  code: 'provider_overloaded',
  message: 'the provider is overloaded',
  retryable: true,
}
const RATE_LIMITED: ProviderFailure = {
  code: 'provider_rate_limited',
  message: 'the provider’s rate limit is exceeded: try again later',
  retryable: true,
}
const QUOTA_USED_UP: ProviderFailure = {
  code: 'provider_rate_limited',
  message: 'the quota of the provider account is used up: check its billing',
  retryable: false,
}
const UNREACHABLE: ProviderFailure = {
  code: 'provider_unreachable',
  message: 'the provider could not be reached: check the network and the base URL',
  retryable: true,
}
const TIMEOUT: ProviderFailure = {
  code: 'provider_timeout',
  message: 'the provider did not answer in time: try again later',
  retryable: true,
}
const UNAUTHORIZED: ProviderFailure = {
  code: 'provider_unauthorized',
  message: 'the provider rejected the API key: check the key',
  retryable: false,
}
const MODEL_NOT_FOUND: ProviderFailure = {
  code: 'provider_model_not_found',
  message: 'the provider does not have this model: check the model id',
  retryable: false,
}
const CONTEXT_EXCEEDED: ProviderFailure = {
  code: 'provider_context_exceeded',
  message: 'the conversation exceeds the model’s context window: trim the history',
  retryable: false,
}
const INVALID_REQUEST: ProviderFailure = {
  code: 'provider_invalid_request',
  message: 'the provider rejected the request as invalid',
  retryable: false,
}
const STREAM_CUT: ProviderFailure = {
  code: 'provider_stream_cut',
  message: 'the provider’s answer was cut off',
  retryable: true,
}
const MALFORMED: ProviderFailure = {
  code: 'provider_error',
  message: 'the provider’s answer could not be read',
  retryable: true,
}
const NO_KEY: ProviderFailure = {
  code: 'provider_unauthorized',
  message: 'the provider’s package found no API key: set the key in its environment variable or option',
  retryable: false,
}
const RETRYABLE_FAILURE: ProviderFailure = { code: 'provider_error', message: 'the provider failed', retryable: true }
const OTHER_FAILURE: ProviderFailure = { code: 'provider_error', message: 'the provider failed', retryable: false }

/** Patterns in the texts of errors. The first match wins. */
const TEXT_PATTERNS: readonly (readonly [RegExp, ProviderFailure])[] = [
  [/overloaded/i, OVERLOADED],
  [/insufficient.?(quota|balance|credit)|billing_(error|limit|hard)|credit balance/i, QUOTA_USED_UP],
  [/rate.?limit|too.?many.?requests/i, RATE_LIMITED],
  [/context.?(length|window)|prompt is too long|maximum context|too many tokens|request_too_large/i, CONTEXT_EXCEEDED],
  [/authentication|invalid.?api.?key|permission_error/i, UNAUTHORIZED],
  [/not_found_error|model_not_found/i, MODEL_NOT_FOUND],
  [/api_error|internal.?server|server_error/i, RETRYABLE_FAILURE],
  [/invalid_request/i, INVALID_REQUEST],
]

/** Names of errors of the AI SDK that identify the failure better than their text. */
const ERROR_NAMES: ReadonlyMap<unknown, ProviderFailure> = new Map([
  ['AI_LoadAPIKeyError', NO_KEY],
  ['AI_LoadSettingError', INVALID_REQUEST],
  ['AI_NoSuchModelError', MODEL_NOT_FOUND],
  ['AI_UnsupportedFunctionalityError', INVALID_REQUEST],
  ['AI_InvalidPromptError', INVALID_REQUEST],
  ['AI_InvalidArgumentError', INVALID_REQUEST],
  ['AI_EmptyResponseBodyError', STREAM_CUT],
])

/** Names of errors for malformed answers. The text of the error is checked first. */
const MALFORMED_NAMES: ReadonlySet<unknown> = new Set([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_InvalidResponseDataError',
  'AI_NoContentGeneratedError',
])

const TIMEOUT_CODE = /^(ETIMEDOUT|UND_ERR_\w*TIMEOUT)$/
const NETWORK_CODE =
  /^(ECONNRESET|ECONNREFUSED|ENOTFOUND|EPIPE|EAI_AGAIN|UND_ERR_\w*|ConnectionRefused|ConnectionClosed|FailedToOpenSocket)$/
const NETWORK_TEXT = /fetch failed|failed to fetch|socket hang up|network error|other side closed/i

/** Upper limit of `retryAfterMs`. The backoff has a lower limit of its own. */
const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * 1000

/** Maximum depth of nested causes that are searched. Some errors contain themselves. */
const MAX_CAUSE_DEPTH = 5

/** Converts any value that a model call threw to a typed error. */
export function classifyProviderError(error: unknown): MillraceError {
  try {
    if (isTyped(error)) return error
    const statusCode = statusOf(error)
    const retryAfterMs = APICallError.isInstance(error) ? retryAfterOf(error.responseHeaders) : undefined
    return errorOf(failureFor(error, statusCode), { statusCode, retryAfterMs, cause: error })
  } catch {
    // A proxy or a getter may throw.
    return errorOf(OTHER_FAILURE, { cause: error })
  }
}

/** The error for a malformed answer. Retryable. */
export const unreadableError = (cause: unknown): ProviderError => errorOf(MALFORMED, { cause })

const errorOf = (
  { code, message, retryable }: ProviderFailure,
  details: {
    readonly statusCode?: number | undefined
    readonly retryAfterMs?: number | undefined
    readonly cause: unknown
  },
): ProviderError => new ProviderError(code, message, { retryable, ...details })

/** Whether an error is typed already. Checks the fields, because any object can carry the mark. */
const isTyped = (error: unknown): error is MillraceError =>
  MillraceError.isInstance(error) &&
  typeof error.code === 'string' &&
  typeof error.message === 'string' &&
  typeof error.retryable === 'boolean'

/** The HTTP status of the reply, or the numeric code of an error inside the stream. */
function statusOf(error: unknown): number | undefined {
  const { statusCode, code } = Object(error) as { statusCode?: unknown; code?: unknown }
  return [statusCode, code].find(
    (value): value is number => Number.isInteger(value) && (value as number) >= 400 && (value as number) < 600,
  )
}

function failureFor(error: unknown, status: number | undefined): ProviderFailure {
  const text = textOf(error)
  if (status !== undefined) return failureForStatus(status, text)
  const { name } = Object(error) as { name?: unknown }
  const named = ERROR_NAMES.get(name) ?? networkFailure(error)
  if (named) return named
  if (/ended without a finish reason/i.test(text)) return STREAM_CUT
  const matched = failureInText(text)
  if (matched) return matched
  if (MALFORMED_NAMES.has(name)) return MALFORMED
  return (Object(error) as { isRetryable?: unknown }).isRetryable === true ? RETRYABLE_FAILURE : OTHER_FAILURE
}

const failureInText = (text: string): ProviderFailure | undefined =>
  TEXT_PATTERNS.find(([pattern]) => pattern.test(text))?.[1]

function failureForStatus(status: number, text: string): ProviderFailure {
  const matched = failureInText(text)
  if (status === 402 || (matched === QUOTA_USED_UP && status < 500)) return QUOTA_USED_UP
  if (status === 429) return RATE_LIMITED
  if (status === 529 || status === 503) return OVERLOADED
  if (status === 401 || status === 403) return UNAUTHORIZED
  if (status === 404) return MODEL_NOT_FOUND
  if (status === 408 || status === 504) return TIMEOUT
  if (status === 413 || (matched === CONTEXT_EXCEEDED && status < 500)) return CONTEXT_EXCEEDED
  if (status >= 500) return matched === OVERLOADED || matched === RATE_LIMITED ? matched : RETRYABLE_FAILURE
  return status === 409 ? RETRYABLE_FAILURE : INVALID_REQUEST
}

function networkFailure(error: unknown): ProviderFailure | undefined {
  for (let each = error, depth = 0; each instanceof Error && depth < MAX_CAUSE_DEPTH; each = each.cause, depth++) {
    const { code } = each as { code?: unknown }
    // The message of Node's fetch for a truncated body.
    if (each.message === 'terminated') return STREAM_CUT
    if (/^(Timeout|Abort)Error$/.test(each.name) || TIMEOUT_CODE.test(String(code))) return TIMEOUT
    if (NETWORK_CODE.test(String(code)) || NETWORK_TEXT.test(each.message)) return UNREACHABLE
  }
  return undefined
}

/** The text of an error and of nested ones, for matching patterns. */
function textOf(error: unknown, depth = 1): string {
  if (typeof error === 'string') return error.slice(0, 4000)
  if (APICallError.isInstance(error)) return `${error.message} ${error.responseBody ?? ''}`.slice(0, 4000)
  const { message, type, code, error: nested } = Object(error) as Record<string, unknown>
  return [message, type, code, nested && depth < MAX_CAUSE_DEPTH ? textOf(nested, depth + 1) : '']
    .filter(text => typeof text === 'string')
    .join(' ')
    .slice(0, 4000)
}

/** The delay of `retry-after-ms` (ms) or `retry-after` (seconds or a date), in ms. */
function retryAfterOf(headers: Record<string, string> | undefined): number | undefined {
  const [ms, other] = [headers?.['retry-after-ms'], headers?.['retry-after']]
  const delayMs = numberOf(ms) ?? (numberOf(other) ?? Number.NaN) * 1000
  if (!Number.isNaN(delayMs)) return Math.min(delayMs, MAX_RETRY_AFTER_MS)
  // Only a text with letters is a date: `Date.parse` also accepts malformed numbers.
  const date = /[a-z]/i.test(other ?? '') ? Date.parse(other as string) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, date - Date.now()), MAX_RETRY_AFTER_MS)
}

const numberOf = (text: string | undefined): number | undefined =>
  text?.trim() && Number(text) >= 0 ? Number(text) : undefined
