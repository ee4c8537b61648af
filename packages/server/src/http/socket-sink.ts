// The way of a stream's bytes to a socket of HTTP/1.1. Node writes each piece of a chunked body as three buffers, anew for every reader; here a piece is made a chunk
// once, and goes to each reader in one write.

import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { BatchingSink, queuedOf } from './batching-sink.ts'

/** Whether nobody stands between a response, whose head is sent, and its socket: no framework that changes what is written, and no protocol but HTTP/1.1. */
export function isDirect(response: ServerResponse): boolean {
  return (
    response.socket !== null &&
    response.chunkedEncoding &&
    response.write === ServerResponse.prototype.write &&
    response.end === ServerResponse.prototype.end
  )
}

/** The piece that was last made a chunk: many readers are given the same one after the other, and nobody changes it. */
let latest: { readonly bytes: Uint8Array; readonly chunk: Buffer } | undefined

function chunkOf(bytes: Uint8Array): Buffer {
  if (latest?.bytes === bytes) return latest.chunk
  const chunk = Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1'), bytes, CRLF])
  latest = { bytes, chunk }
  return chunk
}

const CRLF = Buffer.from('\r\n')
const NOTHING = Buffer.alloc(0)

/** One response that is written to its socket itself. */
export class SocketSink extends BatchingSink {
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #drained = (): void => this.onDrain()

  constructor(response: ServerResponse) {
    super()
    this.#response = response
    this.#socket = response.socket as Socket
    this.#socket.on('drain', this.#drained)
    response.once('close', () => {
      this.#socket.off('drain', this.#drained)
      this.onClose()
    })
    // A socket that breaks closes too, and that is all there is to know.
    response.on('error', () => {})
    // Who left before there was anything to say is told of to nobody any more.
    if (response.destroyed) queueMicrotask(() => this.onClose())
  }

  protected get isOpen(): boolean {
    // What comes after the end would be in the way of the next response.
    return !this.#response.writableEnded && !this.#response.destroyed
  }

  protected get waiting(): number {
    return this.#socket.writableLength
  }

  protected get queued(): number {
    return queuedOf(this.#socket)
  }

  protected pieceOf(bytes: Uint8Array): Uint8Array {
    return chunkOf(bytes)
  }

  protected send(pieces: readonly Uint8Array[]): void {
    const socket = this.#socket
    const isOne = pieces.length === 1
    if (!isOne) socket.cork()
    for (const piece of pieces) socket.write(piece)
    if (!isOne) socket.uncork()
    // Node tells of what it has taken by itself only where much had waited.
    if (socket.writableLength > 0 && !socket.writableNeedDrain) socket.write(NOTHING, this.#drained)
  }

  end(): void {
    // The end goes out with what comes before it: it takes the cork off.
    this.#socket.cork()
    this.flush()
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}
