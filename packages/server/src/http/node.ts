// Replies and requests as Node has them: a stream is written to the socket itself, without a web stream between.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Reply, Sink } from './reply.ts'

/** The `Request` that a message is; throws where it is none. */
export function requestOf(message: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', headers } = message
  const path = (message as { originalUrl?: string }).originalUrl ?? message.url ?? '/'
  const scheme = (message.socket as Partial<TLSSocket>).encrypted ? 'https' : 'http'
  // What begins with two slashes would be taken for a host.
  const url = new URL(`${scheme}://${headers.host ?? 'localhost'}${path.startsWith('/') ? path : '/'}`)
  const named = new Headers()
  for (let i = 0; i < message.rawHeaders.length; i += 2) {
    const name = message.rawHeaders[i] as string
    if (!name.startsWith(':')) named.append(name, message.rawHeaders[i + 1] as string)
  }
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(url, {
    method,
    headers: named,
    signal,
    ...(hasBody && { body: bodyOf(message), duplex: 'half' }),
  } as RequestInit)
}

/** The body of a message; of one that a framework has read already, what it made of it. */
function bodyOf(message: IncomingMessage): BodyInit {
  const read = (message as { body?: unknown }).body
  if (read === undefined || !message.readableEnded) return Readable.toWeb(message) as unknown as BodyInit
  if (typeof read === 'string' || read instanceof Uint8Array) return read as BodyInit
  return JSON.stringify(read)
}

/** Writes a reply. */
export function respond(reply: Reply, response: ServerResponse, isHead: boolean): void {
  const { status, headers } = reply
  if ('stream' in reply) {
    response.writeHead(status, headers)
    response.flushHeaders()
    // Small frames go out as they are, not when there are more of them.
    response.socket?.setNoDelay(true)
    reply.stream(new NodeSink(response))
    return
  }
  const { body } = reply
  const length = body === undefined ? 0 : Buffer.byteLength(body)
  response.writeHead(status, { ...headers, 'content-length': String(length) })
  response.end(isHead ? undefined : body)
}

class NodeSink implements Sink {
  readonly #response: ServerResponse
  onDrain = (): void => {}
  onClose = (): void => {}

  constructor(response: ServerResponse) {
    this.#response = response
    response.on('drain', () => this.onDrain())
    response.once('close', () => this.onClose())
    // A socket that breaks closes too, and that is all there is to know.
    response.on('error', () => {})
  }

  get buffered(): number {
    return this.#response.writableLength
  }

  write(bytes: Uint8Array): void {
    if (!this.#response.destroyed) this.#response.write(bytes)
  }

  end(): void {
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}
