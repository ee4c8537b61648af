// What a failure of an MCP server is, in our words. What the server itself says of a call reaches the model; what the connection says may hold addresses and
// keys, and goes to the log of the process as the cause.

import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client'
import { MillraceError, ToolError } from '../error/error.ts'
import type { ErrorCode } from '../error/error-codes.ts'

/** The most that one message of a server, or all that it answers to one request, may hold. */
export const MAX_MESSAGE_BYTES = 10 * 1024 * 1024
/** The timers of the SDK know no times beyond this; its requests are bounded by who makes them. */
export const LONGEST_MS = 2 ** 31 - 1
/** No server says so by itself: the stream of an answer ended without it. */
export const STREAM_ENDED = Number.MIN_SAFE_INTEGER
/** No server says so by itself: the stream of an answer was ended because it did not end. */
export const TOO_LARGE = STREAM_ENDED + 1
/** As much of a server's own words is told. */
export const LONGEST_TEXT = 1000

/** What is told of an answer that does not end; the transport of stdio has the same words for it. */
export const tooLarge = (): Error => new Error(`the answer exceeded maximum size of ${MAX_MESSAGE_BYTES} bytes`)

/** Whether a message was too large: of stdio all that is known of it. */
export const isTooLarge = (error: unknown): boolean =>
  (error instanceof Error && /exceeded maximum size/.test(error.message)) ||
  (error instanceof ProtocolError && error.code === TOO_LARGE)

const CLOSED: ReadonlySet<unknown> = new Set([SdkErrorCode.ConnectionClosed, SdkErrorCode.NotConnected])

/** What may work later. */
const LATER: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['mcp_unreachable', 'mcp_connection_lost'])

/** What a server says that has no time now. */
const BUSY: ReadonlySet<number> = new Set([408, 425, 429])

const typed = (code: ErrorCode, message: string, cause: unknown) =>
  new ToolError(message, { code, cause, retryable: LATER.has(code) })

/** What went wrong with a server, typed; `trouble` is the last that its connection complained of. */
export function failureOf(error: unknown, server: string, trouble?: Error): MillraceError {
  if (MillraceError.isInstance(error)) return error
  if (isTooLarge(error)) {
    return typed('tool_output_too_large', `${server} sent more than ${MAX_MESSAGE_BYTES} bytes: ask it for less`, error)
  }
  if (isLost(error)) return lost(`the connection to ${server} was lost`, trouble ?? error)
  if (error instanceof UnauthorizedError) return typed('mcp_unauthorized', refusing(server), error)
  if (error instanceof SdkHttpError) return failureOfStatus(error, server)
  if (error instanceof ProtocolError) return refused(server, error.message, error)
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout) {
      return typed('mcp_unreachable', `${server} did not answer in time`, error)
    }
    return senseless(server, error)
  }
  return isSenseless(error)
    ? senseless(server, error)
    : typed('mcp_unreachable', `${server} could not be reached`, error)
}

function failureOfStatus(error: SdkHttpError, server: string): MillraceError {
  const { status } = error
  if (status === 401 || status === 403) return typed('mcp_unauthorized', refusing(server), error)
  const { answered } = answerIn(error)
  if (answered !== undefined) return refused(server, answered, error)
  const said = `${server} answered with status ${status}`
  if (status >= 500) return lost(said, error)
  return typed(BUSY.has(status) ? 'mcp_unreachable' : 'mcp_protocol_error', said, error)
}

/** What went wrong with a server that was asked nothing yet: what is lost then was never there. */
export function unreachedOf(error: unknown, server: string, trouble?: Error): MillraceError {
  const failure = failureOf(error, server, trouble)
  if (MillraceError.isInstance(error) || failure.code === 'mcp_unauthorized') return failure
  if (error instanceof SdkHttpError && answerIn(error).answered === undefined) {
    return typed('mcp_unreachable', `${server} answered with status ${error.status}`, error)
  }
  if (failure.code !== 'mcp_connection_lost') return failure
  return typed('mcp_unreachable', `${server} could not be started or reached`, failure.cause)
}

/** What is told where one message of several calls was too large. */
export const lostByOther = (server: string, cause: unknown): MillraceError =>
  lost(
    `${server} sent more than ${MAX_MESSAGE_BYTES} bytes to this call or to one beside it, and the connection was lost`,
    cause,
  )

/** What is told of a server that takes too long to connect. */
export const unanswered = (server: string, ms: number, cause?: unknown): MillraceError =>
  typed('mcp_unreachable', `${server} did not answer within ${ms} ms`, cause)

const lost = (what: string, cause: unknown) => typed('mcp_connection_lost', `${what}: it may have done the call`, cause)

const refused = (server: string, words: string, cause: unknown) =>
  typed('mcp_protocol_error', `${server} refused: ${shortened(words)}`, cause)

const senseless = (server: string, cause: unknown) =>
  typed('mcp_protocol_error', `${server} did not answer as the protocol says`, cause)

const refusing = (server: string): string => `${server} did not accept the credentials: look at the headers`

/** Whether a server says, or the SDK knows, that there is no such connection any more. */
export function isUnconnected(error: unknown, sessionId: string | undefined): boolean {
  if (error instanceof SdkHttpError) {
    if (sessionId === undefined) return false
    const { answered, isOfSession } = answerIn(error)
    // The protocol has 404 for a session that is gone; many servers say 400, which may also be an answer.
    return answered === undefined && (error.status === 404 || (error.status === 400 && isOfSession))
  }
  if (error instanceof SdkError) return error.code === SdkErrorCode.NotConnected
  return error instanceof Error && error.message === 'Not connected'
}

interface Said {
  /** The server's words, where it answers the request itself. */
  readonly answered: string | undefined
  /** Whether it speaks of the session, or of no request in particular. */
  readonly isOfSession: boolean
}

/** What stands in the body of a status that is none of success. The ids of our requests are numbers. */
function answerIn({ data }: SdkHttpError): Said {
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
const UNSENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOST|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT|CERT_|ERR_TLS|ERR_SSL|ERR_INVALID|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/

const isLost = (error: unknown): boolean =>
  (error instanceof SdkError && CLOSED.has(error.code)) ||
  (error instanceof ProtocolError && error.code === STREAM_ENDED) ||
  isCutOff(error)

/** Whether `fetch` failed for a connection that broke. */
function isCutOff(error: unknown): boolean {
  if (!(error instanceof TypeError)) return false
  if (error.message === 'terminated') return true
  const { code } = Object(error.cause) as { code?: unknown }
  return error.message === 'fetch failed' && typeof code === 'string' && !UNSENT.test(code)
}

/** Whether something was heard, but nothing that the protocol knows. */
const isSenseless = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  error instanceof RangeError ||
  (error instanceof Error && /ZodError$/.test(error.name))

/** The beginning of a server's words. */
export const shortened = (text: string): string =>
  text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT).toWellFormed()}…`
