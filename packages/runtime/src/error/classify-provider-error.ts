// What a provider's failure is, in our words. Its own text may hold keys, urls and prompts: it goes to the log of the process, as the cause.

import { APICallError } from '@ai-sdk/provider'
import { MillraceError, ProviderError } from './error.ts'
import type { ErrorCode } from './error-codes.ts'

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
const USED_UP: Kind = {
  code: 'provider_rate_limited',
  message: 'what may be used of the provider is used up: look at its account',
  retryable: false,
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
const CUT: Kind = { code: 'provider_stream_cut', message: 'the provider’s answer was cut off', retryable: true }
const UNREADABLE: Kind = { code: 'provider_error', message: 'the provider’s answer could not be read', retryable: true }
const NO_KEY: Kind = {
  code: 'provider_unauthorized',
  message: 'the provider’s package found no key: set it where that package looks for it',
  retryable: false,
}
const FAILED: Kind = { code: 'provider_error', message: 'the provider failed', retryable: true }
const OTHER: Kind = { code: 'provider_error', message: 'the provider failed', retryable: false }

/** The words in which providers name what went wrong, wherever in the error they stand. */
const WORDS: readonly (readonly [RegExp, Kind])[] = [
  [/overloaded/i, OVERLOADED],
  [/insufficient.?(quota|balance|credit)|billing_(error|limit|hard)|credit balance/i, USED_UP],
  [/rate.?limit|too.?many.?requests/i, RATE_LIMITED],
  [/context.?(length|window)|prompt is too long|maximum context|too many tokens|request_too_large/i, TOO_LONG],
  [/authentication|invalid.?api.?key|permission_error/i, UNAUTHORIZED],
  [/not_found_error|model_not_found/i, NOT_FOUND],
  [/api_error|internal.?server|server_error/i, FAILED],
  [/invalid_request/i, INVALID],
]

/** The errors of the AI SDK, by name, that say more than their text. */
const NAMES: ReadonlyMap<unknown, Kind> = new Map([
  ['AI_LoadAPIKeyError', NO_KEY],
  ['AI_LoadSettingError', INVALID],
  ['AI_NoSuchModelError', NOT_FOUND],
  ['AI_UnsupportedFunctionalityError', INVALID],
  ['AI_InvalidPromptError', INVALID],
  ['AI_InvalidArgumentError', INVALID],
  ['AI_EmptyResponseBodyError', CUT],
])

/** What is thrown where an answer is not as it should be; what the provider said in it may say why. */
const UNREADABLE_NAMES: ReadonlySet<unknown> = new Set([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_InvalidResponseDataError',
  'AI_NoContentGeneratedError',
])

const TIMED_OUT = /^(ETIMEDOUT|UND_ERR_\w*TIMEOUT)$/
const NETWORK =
  /^(ECONNRESET|ECONNREFUSED|ENOTFOUND|EPIPE|EAI_AGAIN|UND_ERR_\w*|ConnectionRefused|ConnectionClosed|FailedToOpenSocket)$/
const NETWORK_WORDS = /fetch failed|failed to fetch|socket hang up|network error|other side closed/i

/** The longest that a provider may ask to wait; who waits has a bound of its own. */
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1000

/** As deep an error is looked into for what it says; some hold themselves. */
const DEEPEST = 5

/** A failure of a model call as a typed error, whatever was thrown. */
export function classify(error: unknown): MillraceError {
  try {
    if (isTyped(error)) return error
    const statusCode = statusOf(error)
    const retryAfterMs = APICallError.isInstance(error) ? retryAfterOf(error.responseHeaders) : undefined
    return errorOf(kindOf(error, statusCode), { statusCode, retryAfterMs, cause: error })
  } catch {
    // What cannot even be looked at says nothing of its kind.
    return errorOf(OTHER, { cause: error })
  }
}

/** Why an answer that is not as it should be is worth nothing; the next may be. */
export const unreadable = (cause: unknown): ProviderError => errorOf(UNREADABLE, { cause })

const errorOf = (
  { code, message, retryable }: Kind,
  about: { readonly statusCode?: number | undefined; readonly retryAfterMs?: number | undefined; cause: unknown },
): ProviderError => new ProviderError(code, message, { retryable, ...about })

/** Whether an error has a name already; anybody can make an object that only looks so. */
const isTyped = (error: unknown): error is MillraceError =>
  MillraceError.isInstance(error) &&
  typeof error.code === 'string' &&
  typeof error.message === 'string' &&
  typeof error.retryable === 'boolean'

/** The status of the reply, or the one that an error in the middle of a stream stands for. */
function statusOf(error: unknown): number | undefined {
  const { statusCode, code } = Object(error) as { statusCode?: unknown; code?: unknown }
  return [statusCode, code].find(
    (value): value is number => Number.isInteger(value) && (value as number) >= 400 && (value as number) < 600,
  )
}

function kindOf(error: unknown, status: number | undefined): Kind {
  const text = textOf(error)
  if (status !== undefined) return ofStatus(status, text)
  const { name } = Object(error) as { name?: unknown }
  const named = NAMES.get(name) ?? networkOf(error)
  if (named) return named
  if (/ended without a finish reason/i.test(text)) return CUT
  const said = saidIn(text)
  if (said) return said
  if (UNREADABLE_NAMES.has(name)) return UNREADABLE
  return (Object(error) as { isRetryable?: unknown }).isRetryable === true ? FAILED : OTHER
}

const saidIn = (text: string): Kind | undefined => WORDS.find(([words]) => words.test(text))?.[1]

function ofStatus(status: number, text: string): Kind {
  const said = saidIn(text)
  if (status === 402 || (said === USED_UP && status < 500)) return USED_UP
  if (status === 429) return RATE_LIMITED
  if (status === 529 || status === 503) return OVERLOADED
  if (status === 401 || status === 403) return UNAUTHORIZED
  if (status === 404) return NOT_FOUND
  if (status === 408 || status === 504) return TIMEOUT
  if (status === 413 || (said === TOO_LONG && status < 500)) return TOO_LONG
  if (status >= 500) return said === OVERLOADED || said === RATE_LIMITED ? said : FAILED
  return status === 409 ? FAILED : INVALID
}

function networkOf(error: unknown): Kind | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < DEEPEST; at = at.cause, depth++) {
    const { code } = at as { code?: unknown }
    // So the fetch of Node says that a reply ended before its end.
    if (at.message === 'terminated') return CUT
    if (/^(Timeout|Abort)Error$/.test(at.name) || TIMED_OUT.test(String(code))) return TIMEOUT
    if (NETWORK.test(String(code)) || NETWORK_WORDS.test(at.message)) return UNREACHABLE
  }
  return undefined
}

/** What an error says of itself, as far as it is of use to tell its kind. */
function textOf(error: unknown, depth = 1): string {
  if (typeof error === 'string') return error.slice(0, 4000)
  if (APICallError.isInstance(error)) return `${error.message} ${error.responseBody ?? ''}`.slice(0, 4000)
  const { message, type, code, error: nested } = Object(error) as Record<string, unknown>
  return [message, type, code, nested && depth < DEEPEST ? textOf(nested, depth + 1) : '']
    .filter(text => typeof text === 'string')
    .join(' ')
    .slice(0, 4000)
}

/** How long a provider asks to wait: in milliseconds, in seconds, or until a date. */
function retryAfterOf(headers: Record<string, string> | undefined): number | undefined {
  const [ms, other] = [headers?.['retry-after-ms'], headers?.['retry-after']]
  const asked = numberOf(ms) ?? (numberOf(other) ?? Number.NaN) * 1000
  if (!Number.isNaN(asked)) return Math.min(asked, LONGEST_WAIT_MS)
  // A date has letters; what else a number that makes no sense may look like is none.
  const date = /[a-z]/i.test(other ?? '') ? Date.parse(other as string) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, date - Date.now()), LONGEST_WAIT_MS)
}

const numberOf = (text: string | undefined): number | undefined =>
  text?.trim() && Number(text) >= 0 ? Number(text) : undefined
