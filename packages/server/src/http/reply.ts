// Replies of routes, independent of the transport: Node writes them to a socket, the fetch handler turns them into a `Response`.

import type { ErrorReply } from '../errors/http-error.ts'

export type Headers = Readonly<Record<string, string>>

/** Output of a stream: one connection. */
export interface Sink {
  /** Bytes that are not flushed to the network yet. */
  readonly buffered: number
  /** Grows whenever the network accepts bytes. */
  readonly flushed: number
  write(bytes: Uint8Array): void
  /** Ends the stream after the buffered bytes. */
  end(): void
  /** Closes the connection at once. Buffered bytes are lost. */
  destroy(): void
  /** Called when all bytes are flushed. */
  onDrain: () => void
  /** Called once when the client disconnects or the stream has ended. */
  onClose: () => void
}

interface ReplyHead {
  readonly status: number
  readonly headers: Headers
}

/** A reply with a complete body. */
export interface CompleteReply extends ReplyHead {
  readonly body: string | Uint8Array | undefined
}

/** A streaming reply. `stream` is called once. */
export interface StreamReply extends ReplyHead {
  stream(sink: Sink): void
}

/** A reply of a JSON value that is not serialized yet: serializing counts its bytes. */
export interface JsonReply extends ReplyHead {
  readonly value: unknown
}

/** A reply that can be written. */
export type ReadyReply = CompleteReply | StreamReply

/** What a route replies. */
export type Reply = ReadyReply | JsonReply

/** Whether replies of this status have a `Content-Length`. */
export const hasLength = (status: number): boolean => status !== 204 && status !== 304

/** The `Content-Length` of a reply. A reply to HEAD may set it without a body. */
export const lengthOf = ({ body, headers }: CompleteReply): string =>
  headers['content-length'] ?? String(body === undefined ? 0 : Buffer.byteLength(body))

/** A JSON reply. */
export const json = (status: number, value: unknown, headers: Headers = {}): JsonReply => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
  value,
})

/** A JSON reply of a small value, serialized at once. */
const complete = ({ value, ...head }: JsonReply): CompleteReply => ({ ...head, body: JSON.stringify(value) })

/** An error as a JSON reply. */
export const errorReply = (status: number, error: ErrorReply, headers: Headers = {}): CompleteReply =>
  complete(json(status, { error }, headers))
