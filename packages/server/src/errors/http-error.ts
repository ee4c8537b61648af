// Errors as clients see them: an HTTP status, a code for programs and a message for people. Causes and stacks go to the logger, never into a reply.

import { LogError, type LogErrorCode } from '@millrace/log'
import { withSessionIds } from '@millrace/log/internal'
import { excerpt } from '@millrace/protocol/internal'
import { type ErrorCode, MillraceError, RunError } from '@millrace/runtime'

/** HTTP statuses of the server's own error codes. */
const STATUSES = {
  body_invalid: 400,
  request_invalid: 400,
  cursor_invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  origin_forbidden: 403,
  host_forbidden: 403,
  route_unknown: 404,
  blob_unknown: 404,
  upload_unknown: 404,
  method_unknown: 405,
  not_acceptable: 406,
  body_timeout: 408,
  message_unknown: 409,
  transcript_diverged: 409,
  transcript_refused: 409,
  body_too_large: 413,
  input_too_large: 413,
  reply_too_large: 413,
  media_type_unknown: 415,
  bytes_limit: 429,
  sessions_limit: 429,
  uploads_limit: 429,
  streams_limit: 429,
  rate_limit: 429,
  body_parsed: 500,
  authorize_timeout: 503,
  draining: 503,
} as const

/** Error codes for log errors that reach the server directly. A code that is missing here is an internal error. */
const LOG_CODES: Partial<Record<LogErrorCode, ErrorCode>> = {
  absent: 'session_unknown',
  exists: 'session_exists',
  truncated: 'session_trimmed',
  invalid: 'validation_failed',
}

/** HTTP statuses of the runtime's error codes. A code that is missing here is an internal error. */
const RUNTIME_STATUSES: Partial<Record<ErrorCode, number>> = {
  validation_failed: 400,
  upload_unknown: 400,
  workflow_input_invalid: 400,
  answer_invalid: 400,
  answer_wrong_kind: 400,
  answer_forbidden: 404,
  session_unknown: 404,
  run_unknown: 404,
  answer_unknown: 404,
  program_unknown: 404,
  run_busy: 409,
  run_ended: 409,
  run_taken_back: 409,
  run_overtaken: 409,
  run_not_resumable: 409,
  run_cut_refused: 409,
  answer_already_settled: 409,
  answer_late: 409,
  answer_unapproved: 409,
  answer_claimed: 409,
  session_exists: 409,
  session_trimmed: 410,
  run_queue_full: 429,
  checks_limit: 429,
  store_unavailable: 503,
  runtime_closed: 503,
}

export type HttpErrorCode = keyof typeof STATUSES

/** An error in the body of a reply or in a `fail` frame. */
export interface ErrorReply {
  /** Error code, for programs. */
  readonly code: string
  /** Message for developers. */
  readonly message: string
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
}

/** Error that the server sends to the client: its code, message and headers go into the reply. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly code: HttpErrorCode
  readonly status: number
  readonly retryable: boolean
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: HttpErrorCode,
    message: string,
    options: { readonly retryable?: boolean; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.code = code
    this.status = STATUSES[code]
    this.retryable = options.retryable ?? false
    this.headers = options.headers ?? {}
  }
}

/** The error for a reply above its size limit. */
export const replyTooLarge = (limit: number): HttpError =>
  new HttpError(
    'reply_too_large',
    `reply: expected at most ${limit} bytes: request fewer messages with messages=last:50, where the route has it`,
  )

/** The session does not exist or has another owner. Both look the same to the caller. */
export const sessionUnknown = (sessionId: string): RunError =>
  new RunError('session_unknown', `there is no session ${sessionId}: start a run to create it`)

/** The server shuts down: clients may reconnect. */
export const draining = (): HttpError =>
  new HttpError('draining', 'the server is shutting down: reconnect', {
    retryable: true,
    headers: { 'retry-after': '1', connection: 'close' },
  })

/** `authorize` did not answer in time for an open stream: clients may reconnect. */
export const authorizeTimeout = (): HttpError =>
  new HttpError('authorize_timeout', 'the server could not check the access to this stream in time: reconnect', {
    retryable: true,
  })

/** The reply to an error, and whether the server logs it. */
interface ErrorResponse {
  readonly status: number
  readonly error: ErrorReply
  readonly headers: Readonly<Record<string, string>>
  /** Whether the server caused the error: its logger records it. */
  readonly isServerFault: boolean
}

/** The delay before a retry if the error names none, in ms. */
const DEFAULT_RETRY_MS = 1000
/** Maximum length of a message in a reply, in characters: messages quote names that the client sent. */
const MAX_MESSAGE_LENGTH = 600

/** The reply to an error. Only errors meant for clients show their message; all others become `internal_error`. */
export function errorResponseOf(error: unknown): ErrorResponse {
  if (error instanceof HttpError) {
    const { status, code, message, retryable, headers } = error
    return {
      status,
      error: { code, message: publicMessage(message), retryable },
      headers,
      isServerFault: status === 500,
    }
  }
  const tooLarge = tooLargeIn(error)
  if (tooLarge)
    return errorResponseOf(new HttpError('input_too_large', tooLarge.message.replace(/^chunk [\w-]+/, 'body')))
  if (MillraceError.isInstance(error)) {
    const status = RUNTIME_STATUSES[error.code]
    if (status !== undefined) return responseOf(status, error, retryAfterMsOf(error))
  }
  if (error instanceof LogError) {
    if (error.code === 'unavailable') return UNAVAILABLE
    const code = LOG_CODES[error.code] ?? 'internal_error'
    const status = RUNTIME_STATUSES[code]
    if (status !== undefined) return responseOf(status, { code, message: error.message, retryable: false })
  }
  const message = 'internal server error: see the log of the server'
  return { status: 500, error: { code: 'internal_error', message, retryable: false }, headers: {}, isServerFault: true }
}

/** The error of a value that is too large for the log, if that is the cause. */
function tooLargeIn(error: unknown): LogError | undefined {
  const cause = MillraceError.isInstance(error) ? error.cause : error
  return cause instanceof LogError && cause.code === 'too-large' ? cause : undefined
}

const UNAVAILABLE: ErrorResponse = {
  status: 503,
  error: { code: 'store_unavailable', message: 'the store is unreachable: try again later', retryable: true },
  headers: { 'retry-after': '1' },
  isServerFault: true,
}

/** The delay before a retry that an error names, in ms. */
function retryAfterMsOf(error: MillraceError): number | undefined {
  const { retryAfterMs } = error as MillraceError & { readonly retryAfterMs?: unknown }
  return typeof retryAfterMs === 'number' ? retryAfterMs : undefined
}

function responseOf(
  status: number,
  { code, message, retryable }: ErrorReply,
  retryAfterMs = DEFAULT_RETRY_MS,
): ErrorResponse {
  const seconds = String(Math.ceil(retryAfterMs / 1000))
  const headers = status === 503 || status === 429 ? { 'retry-after': seconds } : {}
  return {
    status,
    error: { code, message: publicMessage(message), retryable },
    headers,
    isServerFault: status === 503,
  }
}

/** A message without the ids of logs: they may tell that another owner has a session with the same id. */
const publicMessage = (message: string): string => excerpt(withSessionIds(message), MAX_MESSAGE_LENGTH + 1)
