// What a failure of an MCP server is, in our words. What the server itself says of a call reaches the model; what the connection says may hold addresses and
// keys, and goes to the log of the process as the cause.

import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client'
import type { ErrorCode } from '../error/code.ts'
import { MillraceError, ToolError } from '../error/error.ts'

/** The most that one message of a server, or all that it answers to one request, may hold. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024
/** No server says so by itself: the stream of an answer ended without it. */
export const STREAM_ENDED = Number.MIN_SAFE_INTEGER
/** As much of a server's own words is told. */
const LONGEST_TEXT = 1000

/** What is told of an answer that does not end; the transport of stdio has the same words for it. */
export const tooLarge = (): Error => new Error(`the answer exceeded maximum size of ${MAX_MESSAGE_BYTES} bytes`)

const isTooLarge = (error: unknown): boolean => error instanceof Error && /exceeded maximum size/.test(error.message)

const CLOSED: ReadonlySet<unknown> = new Set([SdkErrorCode.ConnectionClosed, SdkErrorCode.NotConnected])

/** What may work later. */
const LATER: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['mcp_unreachable', 'mcp_connection_lost'])

/** What went wrong with a server, typed; `trouble` is the last that its connection complained of. */
export function failureOf(error: unknown, server: string, trouble?: Error): MillraceError {
  if (MillraceError.isInstance(error)) return error
  const failure = (code: ErrorCode, message: string, cause: unknown = trouble ?? error) =>
    new ToolError(message, { code, cause, retryable: LATER.has(code) })
  if (isTooLarge(error) || (isLost(error) && isTooLarge(trouble))) {
    return failure('tool_output_too_large', `${server} sent more than ${MAX_MESSAGE_BYTES} bytes: ask it for less`)
  }
  if (isLost(error))
    return failure('mcp_connection_lost', `the connection to ${server} was lost: it may have done the call`)
  if (error instanceof UnauthorizedError) return failure('mcp_unauthorized', refusing(server))
  if (error instanceof SdkHttpError) {
    const isRefused = error.status === 401 || error.status === 403
    if (isRefused) return failure('mcp_unauthorized', refusing(server), error)
    return failure('mcp_unreachable', `${server} answered with status ${error.status}`, error)
  }
  if (error instanceof ProtocolError) {
    return failure('mcp_protocol_error', `${server} refused: ${shortened(error.message)}`, error)
  }
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout)
      return failure('mcp_unreachable', `${server} did not answer in time`)
    return failure('mcp_protocol_error', `${server} did not answer as the protocol says`, error)
  }
  return failure('mcp_unreachable', `${server} could not be reached`, error)
}

/** Whether a call was surely not begun because there was no connection for it any more: on another it may be. */
export function isUnsent(error: unknown, sessionId: string | undefined): boolean {
  if (error instanceof SdkHttpError) return sessionId !== undefined && (error.status === 404 || error.status === 400)
  if (error instanceof SdkError) return error.code === SdkErrorCode.NotConnected
  return error instanceof Error && error.message === 'Not connected'
}

const isLost = (error: unknown): boolean =>
  (error instanceof SdkError && CLOSED.has(error.code)) ||
  (error instanceof ProtocolError && error.code === STREAM_ENDED)

const refusing = (server: string): string => `${server} did not accept the credentials: look at the headers`

/** The beginning of a server's words. */
export const shortened = (text: string): string =>
  text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT).toWellFormed()}…`
