// What a request is refused with: a status, a code for programs, and words for people. Causes and stacks go to the logger, never into a reply.

import { LogError, type LogErrorCode } from '@millrace/log'
import { type ErrorCode, MillraceError, RunError } from '@millrace/runtime'
import { shorten } from './shorten.ts'

/** The codes that are the server's own, and their statuses. */
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
  message_unknown: 409,
  transcript_diverged: 409,
  transcript_refused: 409,
  body_too_large: 413,
  input_too_large: 413,
  media_type_unknown: 415,
  bytes_limit: 429,
  sessions_limit: 429,
  streams_limit: 429,
  rate_limit: 429,
  body_parsed: 500,
  draining: 503,
} as const

/** What a log says where no runtime stands between; what is not here is the server's own fault. */
const LOG_CODES: Partial<Record<LogErrorCode, ErrorCode>> = {
  absent: 'session_unknown',
  exists: 'session_exists',
  truncated: 'session_trimmed',
  invalid: 'validation_failed',
}

/** The statuses of what the runtime refuses; what is not here is the server's own fault. */
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
  store_unavailable: 503,
  runtime_closed: 503,
}

export type RefusalCode = keyof typeof STATUSES

/** An error as a reply or a `fail` frame carries it. */
export interface ErrorReply {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
}

/** What a request is refused with. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: RefusalCode
  readonly status: number
  readonly retryable: boolean
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: RefusalCode,
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

/** There is no such session, or it is not theirs: nobody is told which. */
export const sessionUnknown = (sessionId: string): RunError =>
  new RunError('session_unknown', `there is no session ${sessionId}: start a run in it`)

/** The server shuts down: clients may reconnect. */
export const draining = (): Refusal =>
  new Refusal('draining', 'the server is going down: come back', {
    retryable: true,
    headers: { 'retry-after': '1', connection: 'close' },
  })

/** What who asked is told, and what becomes of it here. */
interface ErrorResponse {
  readonly status: number
  readonly error: ErrorReply
  readonly headers: Readonly<Record<string, string>>
  /** Whether nobody but the server is to blame, and its logger should know. */
  readonly isServerFault: boolean
}

/** More words than this are not told: names that a client sent stand in them. */
const LONGEST_MESSAGE = 600

/** What went wrong, as who asked is told: the words of what refused it, and of nothing else. */
export function errorResponseOf(error: unknown): ErrorResponse {
  if (error instanceof Refusal) {
    const { status, code, message, retryable, headers } = error
    return {
      status,
      error: { code, message: shorten(message, LONGEST_MESSAGE), retryable },
      headers,
      isServerFault: status === 500,
    }
  }
  const tooLarge = tooLargeIn(error)
  if (tooLarge)
    return errorResponseOf(new Refusal('input_too_large', tooLarge.message.replace(/^chunk [\w-]+/, 'body')))
  if (MillraceError.isInstance(error)) {
    const status = RUNTIME_STATUSES[error.code]
    if (status !== undefined) return responseOf(status, error)
  }
  if (error instanceof LogError) {
    if (error.code === 'unavailable') return UNAVAILABLE
    const code = LOG_CODES[error.code] ?? 'internal_error'
    const status = RUNTIME_STATUSES[code]
    if (status !== undefined) return responseOf(status, { code, message: error.message, retryable: false })
  }
  const message = 'something went wrong on the server: its log says what'
  return { status: 500, error: { code: 'internal_error', message, retryable: false }, headers: {}, isServerFault: true }
}

/** That something is larger than the log takes at once, if that is why. */
function tooLargeIn(error: unknown): LogError | undefined {
  const cause = MillraceError.isInstance(error) ? error.cause : error
  return cause instanceof LogError && cause.code === 'too-large' ? cause : undefined
}

const UNAVAILABLE: ErrorResponse = {
  status: 503,
  error: { code: 'store_unavailable', message: 'the store is out of reach: try again later', retryable: true },
  headers: { 'retry-after': '1' },
  isServerFault: true,
}

function responseOf(status: number, { code, message, retryable }: ErrorReply): ErrorResponse {
  const headers = status === 503 || status === 429 ? { 'retry-after': '1' } : {}
  return {
    status,
    error: { code, message: shorten(message, LONGEST_MESSAGE), retryable },
    headers,
    isServerFault: status === 503,
  }
}
