// Maps the errors of MCP servers to error codes. The model gets a server's own message about a call. Errors of the connection
// may contain URLs and keys, so they go only to the logger, as the cause.

import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client'
import { MillraceError, ToolError } from '../error/error.ts'
import type { ErrorCode } from '../error/error-codes.ts'

/** Maximum size of one message of a server, and of the complete reply to one request, in bytes. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024
/** Internal error code: the stream of a reply ended without the reply. No server uses it. */
export const STREAM_ENDED = Number.MIN_SAFE_INTEGER
/** Internal error code: the reply exceeded the size limit. No server uses it. */
export const TOO_LARGE = STREAM_ENDED + 1
/** Maximum length of a server's message, in characters. */
export const MAX_TEXT_LENGTH = 1000

/** The error of an oversized reply, with the same wording as the SDK's stdio transport. */
export const tooLargeError = (): Error => new Error(`the answer exceeded maximum size of ${MAX_MESSAGE_BYTES} bytes`)

/** Whether a message exceeded the size limit. The stdio transport reports it only by its message. */
export const isTooLarge = (error: unknown): boolean =>
  (error instanceof Error && /exceeded maximum size/.test(error.message)) ||
  (error instanceof ProtocolError && error.code === TOO_LARGE)

const CLOSED_CODES: ReadonlySet<unknown> = new Set([SdkErrorCode.ConnectionClosed, SdkErrorCode.NotConnected])

/** Codes of retryable errors. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['mcp_unreachable', 'mcp_connection_lost'])

/** HTTP statuses of a busy server. */
const BUSY_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

const mcpError = (code: ErrorCode, message: string, cause: unknown) =>
  new ToolError(message, { code, cause, retryable: RETRYABLE.has(code) })

/** Converts an error of a request to a typed one. `lastError` is the last error of the connection. */
export function toMcpError(error: unknown, server: string, lastError?: Error): MillraceError {
  if (MillraceError.isInstance(error)) return error
  if (isTooLarge(error)) {
    return mcpError(
      'tool_output_too_large',
      `${server} sent more than ${MAX_MESSAGE_BYTES} bytes: ask it for less`,
      error,
    )
  }
  if (isLost(error)) return lostError(`the connection to ${server} was lost`, lastError ?? error)
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
  const { replyMessage } = parseErrorBody(error)
  if (replyMessage !== undefined) return refusedError(server, replyMessage, error)
  const message = `${server} answered with status ${status}`
  if (status >= 500) return lostError(message, error)
  return mcpError(BUSY_STATUSES.has(status) ? 'mcp_unreachable' : 'mcp_protocol_error', message, error)
}

/** Converts an error of connecting. Without a call, a lost connection is an unreachable server. */
export function toConnectError(error: unknown, server: string, lastError?: Error): MillraceError {
  const failure = toMcpError(error, server, lastError)
  if (MillraceError.isInstance(error) || failure.code === 'mcp_unauthorized') return failure
  if (error instanceof SdkHttpError && parseErrorBody(error).replyMessage === undefined) {
    return mcpError('mcp_unreachable', `${server} answered with status ${error.status}`, error)
  }
  if (failure.code !== 'mcp_connection_lost') return failure
  return mcpError('mcp_unreachable', `${server} could not be started or reached`, failure.cause)
}

/** The error of all calls in flight after an oversized message whose call is unknown. */
export const lostWithOthersError = (server: string, cause: unknown): MillraceError =>
  lostError(
    `${server} sent more than ${MAX_MESSAGE_BYTES} bytes to this or a concurrent call, and the connection was lost`,
    cause,
  )

/** The error of a server that does not connect in time. */
export const connectTimeoutError = (server: string, timeoutMs: number, cause?: unknown): MillraceError =>
  mcpError('mcp_unreachable', `${server} did not answer within ${timeoutMs} ms`, cause)

const lostError = (problem: string, cause: unknown) =>
  mcpError('mcp_connection_lost', `${problem}: the call may have taken effect`, cause)

const refusedError = (server: string, serverMessage: string, cause: unknown) =>
  mcpError('mcp_protocol_error', `${server} refused: ${truncateText(serverMessage)}`, cause)

const invalidReply = (server: string, cause: unknown) =>
  mcpError('mcp_protocol_error', `${server} sent an answer that violates the protocol`, cause)

const unauthorizedMessage = (server: string): string => `${server} rejected the credentials: check the headers`

/** Whether an error says that the session no longer exists. */
export function isSessionGone(error: unknown, sessionId: string | undefined): boolean {
  if (error instanceof SdkHttpError) {
    if (sessionId === undefined) return false
    const { replyMessage, isAboutSession } = parseErrorBody(error)
    // The protocol uses 404 for a missing session. Many servers use 400, which may also be a reply to the request.
    return replyMessage === undefined && (error.status === 404 || (error.status === 400 && isAboutSession))
  }
  if (error instanceof SdkError) return error.code === SdkErrorCode.NotConnected
  return error instanceof Error && error.message === 'Not connected'
}

interface ErrorBody {
  /** The server's message, if the body is a reply to the request. */
  readonly replyMessage: string | undefined
  /** Whether it is about the session, or about no request in particular. */
  readonly isAboutSession: boolean
}

/** Reads the body of an HTTP error. The ids of our requests are numbers. */
function parseErrorBody({ data }: SdkHttpError): ErrorBody {
  const { text } = data as { readonly text?: unknown }
  const body = typeof text === 'string' ? text : ''
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {}
  const { jsonrpc, id, error } = Object(parsed) as { jsonrpc?: unknown; id?: unknown; error?: { message?: unknown } }
  if (jsonrpc === undefined) return { replyMessage: undefined, isAboutSession: /session/i.test(body) }
  if (typeof id !== 'number') return { replyMessage: undefined, isAboutSession: true }
  const { message } = Object(error) as { message?: unknown }
  return { replyMessage: typeof message === 'string' ? message : 'no reason given', isAboutSession: false }
}

/** Codes of `fetch` errors before the request was sent. With any other the server may have received it. */
const UNSENT_CODES =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOST|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT|CERT_|ERR_TLS|ERR_SSL|ERR_INVALID|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/

const isLost = (error: unknown): boolean =>
  (error instanceof SdkError && CLOSED_CODES.has(error.code)) ||
  (error instanceof ProtocolError && error.code === STREAM_ENDED) ||
  isConnectionBroken(error)

/** Whether `fetch` failed because the connection broke. */
function isConnectionBroken(error: unknown): boolean {
  if (!(error instanceof TypeError)) return false
  if (error.message === 'terminated') return true
  const { code } = Object(error.cause) as { code?: unknown }
  return error.message === 'fetch failed' && typeof code === 'string' && !UNSENT_CODES.test(code)
}

/** Whether a reply arrived that violates the protocol. */
const isInvalidReply = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  error instanceof RangeError ||
  (error instanceof Error && /ZodError$/.test(error.name))

/** Truncates a message of a server. */
export const truncateText = (text: string): string =>
  text.length <= MAX_TEXT_LENGTH ? text : `${text.slice(0, MAX_TEXT_LENGTH).toWellFormed()}…`
