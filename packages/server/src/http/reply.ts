// What a route answers with, before it is anybody's response: Node writes it to a socket, the fetch handler makes a `Response` of it.

import type { ErrorReply } from '../errors/refusal.ts'

export type Headers = Readonly<Record<string, string>>

/** Where a stream goes: one connection. */
export interface Sink {
  /** How many bytes the network has not taken yet. */
  readonly buffered: number
  /** Grows whenever the network takes some of what was written. */
  readonly taken: number
  write(bytes: Uint8Array): void
  /** Ends it in good order. */
  end(): void
  /** Ends it at once, with what is buffered lost. */
  destroy(): void
  /** Is told when the network has taken all there was. */
  onDrain: () => void
  /** Is told once when the other side is gone, or all is said. */
  onClose: () => void
}

interface ReplyHead {
  readonly status: number
  readonly headers: Headers
}

/** A reply that is there whole. */
export interface WholeReply extends ReplyHead {
  readonly body: string | Uint8Array | undefined
}

/** A reply that goes on; `stream` is called once, with where it goes. */
export interface StreamReply extends ReplyHead {
  stream(sink: Sink): void
}

export type Reply = WholeReply | StreamReply

/** Whether a reply of that status says how long it is: what has no body at all says nothing of it. */
export const hasLength = (status: number): boolean => status !== 204 && status !== 304

/** How many bytes a reply has, as its header says it; it may say so of a body that nobody wants. */
export const lengthOf = ({ body, headers }: WholeReply): string =>
  headers['content-length'] ?? String(body === undefined ? 0 : Buffer.byteLength(body))

/** A reply of JSON. */
export const json = (status: number, value: unknown, headers: Headers = {}): WholeReply => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers },
  body: JSON.stringify(value),
})

/** A refusal as JSON. */
export const errorReply = (status: number, error: ErrorReply, headers: Headers = {}): WholeReply =>
  json(status, { error }, headers)
