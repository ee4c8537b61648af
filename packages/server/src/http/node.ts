// Replies and requests as Node has them: a stream is written to the socket itself, without a web stream between.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { Refusal } from '../errors/refusal.ts'
import { BatchingSink, queuedOf } from './batching-sink.ts'
import { markParsed } from './body.ts'
import type { ChannelSettings } from './channel.ts'
import { hasLength, lengthOf, type Reply } from './reply.ts'
import { isDirect, SocketSink } from './socket-sink.ts'

/** The path and query of a message, as whoever knows its paths wants them: what a framework left of them, or as they came. */
export function pathOf(message: IncomingMessage, isFor: (pathname: string) => boolean): string {
  const { url = '/', originalUrl = url } = message as IncomingMessage & { readonly originalUrl?: string }
  // Who mounts this server under a path has that taken off, unless it is the server's base path.
  return !isFor(pathnameOf(url)) && isFor(pathnameOf(originalUrl)) ? originalUrl : url
}

export const pathnameOf = (path: string): string => path.split('?', 1)[0] as string

/** The `Request` that a message is; throws where it is none. */
export function requestOf(message: IncomingMessage, path: string, signal: AbortSignal): Request {
  const { method = 'GET', rawHeaders } = message
  const scheme = (message.socket as Partial<TLSSocket>).encrypted ? 'https' : 'http'
  const hosts: string[] = []
  const named: [string, string][] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase()
    const value = rawHeaders[i + 1] as string
    // HTTP/2 has another name for it.
    if (name === 'host' || name === ':authority') hosts.push(value)
    if (!name.startsWith(':')) named.push([name, value])
  }
  assertPlainTarget(path, hosts)
  const [host = 'localhost'] = hosts
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const body = hasBody ? bodyOf(message) : undefined
  const request = new Request(new URL(`${scheme}://${host}${path}`), {
    method,
    headers: named,
    signal,
    ...(body !== undefined && { body, duplex: 'half' }),
  } as RequestInit)
  if (typeof body === 'string') markParsed(request)
  return request
}

/** Throws if the target is not a plain path, or if there is more than one host: a proxy in front could read such a request differently. */
function assertPlainTarget(target: string, hosts: readonly string[]): void {
  if (!target.startsWith('/')) throw new Refusal('request_invalid', 'target: expected a path')
  const [path = ''] = target.split('?', 1)
  // A URL would quietly go up for these, or forget what follows.
  if (/[\\#]|\/(\.|%2e){1,2}(\/|$)/i.test(path)) {
    throw new Refusal('request_invalid', 'path: expected no way up, no backslash and no fragment')
  }
  if (hosts.length > 1) throw new Refusal('request_invalid', 'host: expected one')
}

/** The body of a message; of one that a framework has read already, what it made of it: text is not what was sent any more. */
function bodyOf(message: IncomingMessage): ReadableStream<Uint8Array> | Uint8Array | string {
  const read = (message as { body?: unknown }).body
  if (read === undefined || !message.readableEnded) return unread(message)
  if (typeof read === 'string' || read instanceof Uint8Array) return read
  return JSON.stringify(read)
}

/** A body that nobody reads before it is wanted: Node gets rid of what was never begun, so that the connection can go on. */
function unread(message: IncomingMessage): ReadableStream<Uint8Array> {
  let pieces: AsyncIterator<Uint8Array> | undefined
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // Whoever stops in the middle still wants to answer.
        pieces ??= message.iterator({ destroyOnReturn: false })
        const { done, value } = await pieces.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
}

/** Writes a reply. */
export function respond(
  reply: Reply,
  message: IncomingMessage,
  response: ServerResponse,
  { timers, stallMs }: Pick<ChannelSettings, 'timers' | 'stallMs'>,
): void {
  const { status } = reply
  const headers = headersOf(reply, message)
  if ('stream' in reply) {
    response.writeHead(status, headers)
    response.flushHeaders()
    // Small frames go out as they are, not when there are more of them.
    if (message.httpVersionMajor < 2) response.socket?.setNoDelay(true)
    reply.stream(isDirect(response) ? new SocketSink(response) : new NodeSink(response))
    return
  }
  response.writeHead(status, hasLength(status) ? { ...headers, 'content-length': lengthOf(reply) } : headers)
  response.end(message.method === 'HEAD' ? undefined : reply.body)
  // What is short is taken at once, or not at all.
  const cancel = timers.after(stallMs, () => response.destroy(), true)
  response.once('close', cancel)
}

/** Of what is said of a connection, HTTP/2 knows nothing. */
function headersOf({ headers }: Reply, { httpVersionMajor }: IncomingMessage): Reply['headers'] {
  if (httpVersionMajor < 2) return headers
  const { connection, ...rest } = headers
  return rest
}

/** What may wait without anybody being full of it, in bytes. */
const LITTLE = 2048

class NodeSink extends BatchingSink {
  readonly #response: ServerResponse
  readonly #told = (): void => this.onDrain()

  constructor(response: ServerResponse) {
    super()
    this.#response = response
    response.on('drain', () => this.onDrain())
    response.once('close', () => this.onClose())
    // A socket that breaks closes too, and that is all there is to know.
    response.on('error', () => {})
    // Who left before there was anything to say is told of to nobody any more.
    if (response.destroyed) queueMicrotask(() => this.onClose())
  }

  protected get isOpen(): boolean {
    return !this.#response.destroyed
  }

  protected get waiting(): number {
    return this.#response.writableLength
  }

  protected get queued(): number {
    return queuedOf(this.#response.socket)
  }

  protected pieceOf(bytes: Uint8Array): Uint8Array {
    return bytes
  }

  protected send(pieces: readonly Uint8Array[]): void {
    const [first] = pieces as [Uint8Array]
    const bytes = pieces.length === 1 ? first : Buffer.concat(pieces)
    // Node tells of what it has taken by itself only where much had waited.
    if (this.waiting + bytes.length < LITTLE) this.#response.write(bytes)
    else this.#response.write(bytes, this.#told)
  }

  end(): void {
    this.flush()
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}
