// What a failure of an MCP server is, in our words. What the server itself says of a call reaches the model; what the connection says may hold addresses and
// keys, and goes to the log of the process as the cause.

import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client'
import { MillraceError, ToolError } from '../error/error.ts'
import type { ErrorCode } from '../error/error-codes.ts'

/** The most that one message of a server, or all that it answers to one request, may hold. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024
/** The timers of the SDK know no times beyond this; its requests are bounded by who makes them. */
export const MAX_TIMER_MS = 2 ** 31 - 1
/** No server says so by itself: the stream of an answer ended without it. */
export const STREAM_ENDED = Number.MIN_SAFE_INTEGER
/** No server says so by itself: the stream of an answer was ended because it did not end. */
export const TOO_LARGE = STREAM_ENDED + 1
/** As much of a server's own words is told. */
export const MAX_TEXT_LENGTH = 1000

/** What is told of an answer that does not end; the transport of stdio has the same words for it. */
export const tooLargeError = (): Error => new Error(`the answer exceeded maximum size of ${MAX_MESSAGE_BYTES} bytes`)

/** Whether a message was too large: of stdio all that is known of it. */
export const isTooLarge = (error: unknown): boolean =>
  (error instanceof Error && /exceeded maximum size/.test(error.message)) ||
  (error instanceof ProtocolError && error.code === TOO_LARGE)

const CLOSED_CODES: ReadonlySet<unknown> = new Set([SdkErrorCode.ConnectionClosed, SdkErrorCode.NotConnected])

/** What may work later. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['mcp_unreachable', 'mcp_connection_lost'])

/** What a server says that has no time now. */
const BUSY_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

const mcpError = (code: ErrorCode, message: string, cause: unknown) =>
  new ToolError(message, { code, cause, retryable: RETRYABLE.has(code) })

/** What went wrong with a server, typed; `trouble` is the last that its connection complained of. */
export function toMcpError(error: unknown, server: string, trouble?: Error): MillraceError {
  if (MillraceError.isInstance(error)) return error
  if (isTooLarge(error)) {
    return mcpError(
      'tool_output_too_large',
      `${server} sent more than ${MAX_MESSAGE_BYTES} bytes: ask it for less`,
      error,
    )
  }
  if (isLost(error)) return lostError(`the connection to ${server} was lost`, trouble ?? error)
  if (error instanceof UnauthorizedError) return mcpError('mcp_unauthorized', unauthorizedMessage(server), error)
  if (error instanceof SdkHttpError) return failureOfStatus(error, server)
  if (error instanceof ProtocolError) return refusedError(server, error.message, error)
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout) {
      return mcpError('mcp_unreachable', `${server} did not answer in time`, error)
    }
    return invalidReply(server, error)
  }
  return isInvalidReply(error)
    ? invalidReply(server, error)
    : mcpError('mcp_unreachable', `${server} could not be reached`, error)
}

function failureOfStatus(error: SdkHttpError, server: string): MillraceError {
  const { status } = error
  if (status === 401 || status === 403) return mcpError('mcp_unauthorized', unauthorizedMessage(server), error)
  const { answered } = parseErrorBody(error)
  if (answered !== undefined) return refusedError(server, answered, error)
  const said = `${server} answered with status ${status}`
  if (status >= 500) return lostError(said, error)
  return mcpError(BUSY_STATUSES.has(status) ? 'mcp_unreachable' : 'mcp_protocol_error', said, error)
}

/** What went wrong with a server that was asked nothing yet: what is lost then was never there. */
export function toConnectError(error: unknown, server: string, trouble?: Error): MillraceError {
  const failure = toMcpError(error, server, trouble)
  if (MillraceError.isInstance(error) || failure.code === 'mcp_unauthorized') return failure
  if (error instanceof SdkHttpError && parseErrorBody(error).answered === undefined) {
    return mcpError('mcp_unreachable', `${server} answered with status ${error.status}`, error)
  }
  if (failure.code !== 'mcp_connection_lost') return failure
  return mcpError('mcp_unreachable', `${server} could not be started or reached`, failure.cause)
}

/** What is told where one message of several calls was too large. */
export const lostWithOthersError = (server: string, cause: unknown): MillraceError =>
  lostError(
    `${server} sent more than ${MAX_MESSAGE_BYTES} bytes to this call or to one beside it, and the connection was lost`,
    cause,
  )

/** What is told of a server that takes too long to connect. */
export const connectTimeoutError = (server: string, ms: number, cause?: unknown): MillraceError =>
  mcpError('mcp_unreachable', `${server} did not answer within ${ms} ms`, cause)

const lostError = (what: string, cause: unknown) =>
  mcpError('mcp_connection_lost', `${what}: it may have done the call`, cause)

const refusedError = (server: string, words: string, cause: unknown) =>
  mcpError('mcp_protocol_error', `${server} refused: ${shortened(words)}`, cause)

const invalidReply = (server: string, cause: unknown) =>
  mcpError('mcp_protocol_error', `${server} did not answer as the protocol says`, cause)

const unauthorizedMessage = (server: string): string => `${server} did not accept the credentials: look at the headers`

/** Whether a server says, or the SDK knows, that there is no such connection any more. */
export function isSessionGone(error: unknown, sessionId: string | undefined): boolean {
  if (error instanceof SdkHttpError) {
    if (sessionId === undefined) return false
    const { answered, isOfSession } = parseErrorBody(error)
    // The protocol has 404 for a session that is gone; many servers say 400, which may also be an answer.
    return answered === undefined && (error.status === 404 || (error.status === 400 && isOfSession))
  }
  if (error instanceof SdkError) return error.code === SdkErrorCode.NotConnected
  return error instanceof Error && error.message === 'Not connected'
}

interface ErrorBody {
  /** The server's words, where it answers the request itself. */
  readonly answered: string | undefined
  /** Whether it speaks of the session, or of no request in particular. */
  readonly isOfSession: boolean
}

/** What stands in the body of a status that is none of success. The ids of our requests are numbers. */
function parseErrorBody({ data }: SdkHttpError): ErrorBody {
  const { text } = data as { readonly text?: unknown }
  const body = typeof text === 'string' ? text : ''
  let said: unknown
  try {
    said = JSON.parse(body)
  } catch {}
  const { jsonrpc, id, error } = Object(said) as { jsonrpc?: unknown; id?: unknown; error?: { message?: unknown } }
  if (jsonrpc === undefined) return { answered: undefined, isOfSession: /session/i.test(body) }
  if (typeof id !== 'number') return { answered: undefined, isOfSession: true }
  const { message } = Object(error) as { message?: unknown }
  return { answered: typeof message === 'string' ? message : 'no reason was given', isOfSession: false }
}

/** Why a request was never sent; of all else it is not known how far it came. */
const UNSENT_CODES =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOST|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT|CERT_|ERR_TLS|ERR_SSL|ERR_INVALID|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/

const isLost = (error: unknown): boolean =>
  (error instanceof SdkError && CLOSED_CODES.has(error.code)) ||
  (error instanceof ProtocolError && error.code === STREAM_ENDED) ||
  isCutOff(error)

/** Whether `fetch` failed for a connection that broke. */
function isCutOff(error: unknown): boolean {
  if (!(error instanceof TypeError)) return false
  if (error.message === 'terminated') return true
  const { code } = Object(error.cause) as { code?: unknown }
  return error.message === 'fetch failed' && typeof code === 'string' && !UNSENT_CODES.test(code)
}

/** Whether something was heard, but nothing that the protocol knows. */
const isInvalidReply = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  error instanceof RangeError ||
  (error instanceof Error && /ZodError$/.test(error.name))

/** The beginning of a server's words. */
export const shortened = (text: string): string =>
  text.length <= MAX_TEXT_LENGTH ? text : `${text.slice(0, MAX_TEXT_LENGTH).toWellFormed()}…`
