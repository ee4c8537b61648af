// Writes a stream to an HTTP/1.1 socket directly. Node writes each piece of a chunked body as three buffers, again for every reader;
// here a piece becomes an HTTP chunk once, and goes to each reader in one write.

import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { BatchingSink, handleBytesOf } from './batching-sink.ts'

/** Whether a response with sent headers can be written to its socket: no framework wraps it, and the protocol is HTTP/1.1. */
export function isDirect(response: ServerResponse): boolean {
  return (
    response.socket !== null &&
    response.chunkedEncoding &&
    response.write === ServerResponse.prototype.write &&
    response.end === ServerResponse.prototype.end
  )
}

/** The latest piece as a chunk: many readers get the same piece in a row. */
let latest: { readonly bytes: Uint8Array; readonly chunk: Buffer } | undefined

function httpChunk(bytes: Uint8Array): Buffer {
  if (latest?.bytes === bytes) return latest.chunk
  const chunk = Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1'), bytes, CRLF])
  latest = { bytes, chunk }
  return chunk
}

const CRLF = Buffer.from('\r\n')
const EMPTY = Buffer.alloc(0)

/** A response that is written directly to its socket. */
export class SocketSink extends BatchingSink {
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #onSocketDrain = (): void => this.onDrain()

  constructor(response: ServerResponse) {
    super()
    this.#response = response
    this.#socket = response.socket as Socket
    this.#socket.on('drain', this.#onSocketDrain)
    response.once('close', () => {
      this.#socket.off('drain', this.#onSocketDrain)
      this.onClose()
    })
    // A broken socket also emits `close`.
    response.on('error', () => {})
    // The client left before this sink existed, so `close` will not be emitted again.
    if (response.destroyed) queueMicrotask(() => this.onClose())
  }

  protected get isOpen(): boolean {
    // Bytes after the end would corrupt the next response.
    return !this.#response.writableEnded && !this.#response.destroyed
  }

  protected get nodeBytes(): number {
    return this.#socket.writableLength
  }

  protected get handleBytes(): number {
    return handleBytesOf(this.#socket)
  }

  protected pieceOf(bytes: Uint8Array): Uint8Array {
    return httpChunk(bytes)
  }

  protected send(pieces: readonly Uint8Array[]): void {
    const socket = this.#socket
    const isOne = pieces.length === 1
    if (!isOne) socket.cork()
    for (const piece of pieces) socket.write(piece)
    if (!isOne) socket.uncork()
    // Node emits `drain` only after larger writes.
    if (socket.writableLength > 0 && !socket.writableNeedDrain) socket.write(EMPTY, this.#onSocketDrain)
  }

  end(): void {
    // Sends the end together with the pending writes: `end` uncorks the socket.
    this.#socket.cork()
    this.flush()
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}
