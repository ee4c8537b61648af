// The way of a stream's bytes to a socket of HTTP/1.1. Node writes each piece of a chunked body as three buffers, anew for every reader; here a piece is made a chunk
// once, and goes to each reader in one write.

import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Sink } from './reply.ts'

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
export class SocketSink implements Sink {
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #drained = (): void => this.onDrain()
  #written = 0
  onDrain = (): void => {}
  onClose = (): void => {}

  constructor(response: ServerResponse) {
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

  get buffered(): number {
    return this.#socket.writableLength
  }

  get taken(): number {
    // A write counts as waiting until the last byte of it is taken; the handle knows more, which Node itself goes by where sockets time out.
    const { writeQueueSize = 0 } = (this.#socket as { _handle?: { writeQueueSize?: number } })._handle ?? {}
    return this.#written - this.#socket.writableLength - writeQueueSize
  }

  write(bytes: Uint8Array): void {
    // What comes after the end would be in the way of the next response, and a chunk of no bytes would be the end.
    if (bytes.length === 0 || this.#response.writableEnded || this.#response.destroyed) return
    const chunk = chunkOf(bytes)
    this.#written += chunk.length
    const isLittle = this.#socket.write(chunk)
    // Node tells of what it has taken by itself only where much had waited.
    if (isLittle && this.#socket.writableLength > 0) this.#socket.write(NOTHING, this.#drained)
  }

  end(): void {
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}
