// Requests and replies of Node: streams are written to the socket directly, without a web stream in between.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { Timers } from '@millrace/log'
import { HttpError } from '../errors/http-error.ts'
import { BatchingSink, handleBytesOf } from './batching-sink.ts'
import { markParsed } from './body.ts'
import type { ChannelSettings } from './channel.ts'
import { hasLength, lengthOf, type ReadyReply } from './reply.ts'
import { isDirect, SocketSink } from './socket-sink.ts'

/** The path and query of a request: the path that a framework left after mounting, or the original one. */
export function pathOf(message: IncomingMessage, isServed: (pathname: string) => boolean): string {
  const { url = '/', originalUrl = url } = message as IncomingMessage & { readonly originalUrl?: string }
  // A framework strips the mount path, but the server needs it if it is the base path.
  return !isServed(pathnameOf(url)) && isServed(pathnameOf(originalUrl)) ? originalUrl : url
}

export const pathnameOf = (path: string): string => path.split('?', 1)[0] as string

/** The web `Request` of a Node request. @throws `request_invalid` */
export function requestOf(message: IncomingMessage, path: string, signal: AbortSignal): Request {
  const { method = 'GET', rawHeaders } = message
  const scheme = (message.socket as Partial<TLSSocket>).encrypted ? 'https' : 'http'
  const hosts: string[] = []
  const headers: [string, string][] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase()
    const value = rawHeaders[i + 1] as string
    // HTTP/2 calls the host header `:authority`.
    if (name === 'host' || name === ':authority') hosts.push(value)
    if (!name.startsWith(':')) headers.push([name, value])
  }
  assertPlainTarget(path, hosts)
  const [host = 'localhost'] = hosts
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const body = hasBody ? bodyOf(message) : undefined
  const request = new Request(new URL(`${scheme}://${host}${path}`), {
    method,
    headers,
    signal,
    ...(body !== undefined && { body, duplex: 'half' }),
  } as RequestInit)
  if (typeof body === 'string') markParsed(request)
  return request
}

/** Checks for a plain path and a single host: a proxy in front could read anything else differently. @throws `request_invalid` */
function assertPlainTarget(target: string, hosts: readonly string[]): void {
  if (!target.startsWith('/')) throw new HttpError('request_invalid', 'target: expected a path that starts with /')
  const [path = ''] = target.split('?', 1)
  // The URL parser would resolve dot segments and drop fragments.
  if (/[\\#]|\/(\.|%2e){1,2}(\/|$)/i.test(path)) {
    throw new HttpError('request_invalid', 'path: expected no dot segments, backslashes or fragments')
  }
  if (hosts.length > 1) throw new HttpError('request_invalid', 'host: expected exactly one')
}

/** The body of a request. If a framework has parsed it already, its result, whose bytes may differ from those sent. */
function bodyOf(message: IncomingMessage): ReadableStream<Uint8Array> | Uint8Array | string {
  const parsedBody = (message as { body?: unknown }).body
  if (parsedBody === undefined || !message.readableEnded) return lazyBody(message)
  if (typeof parsedBody === 'string' || parsedBody instanceof Uint8Array) return parsedBody
  return JSON.stringify(parsedBody)
}

/** A body that is read on demand. Node discards an unread body, so that the connection can be reused. */
function lazyBody(message: IncomingMessage): ReadableStream<Uint8Array> {
  let pieces: AsyncIterator<Uint8Array> | undefined
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // A reader that stops midway still sends a reply on this socket.
        pieces ??= message.iterator({ destroyOnReturn: false })
        const { done, value } = await pieces.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
}

/** Writes a reply to a Node response. */
export function respond(
  reply: ReadyReply,
  message: IncomingMessage,
  response: ServerResponse,
  { timers, stallMs }: Pick<ChannelSettings, 'timers' | 'stallMs'>,
): void {
  const { status } = reply
  const headers = headersOf(leavesLargeBody(message) ? withClose(reply) : reply, message)
  if ('stream' in reply) {
    response.writeHead(status, headers)
    response.flushHeaders()
    // Sends small frames at once.
    if (message.httpVersionMajor < 2) response.socket?.setNoDelay(true)
    reply.stream(isDirect(response) ? new SocketSink(response) : new NodeSink(response))
    return
  }
  response.writeHead(status, hasLength(status) ? { ...headers, 'content-length': lengthOf(reply) } : headers)
  const body = message.method === 'HEAD' ? undefined : reply.body
  if (headers['connection'] === 'close' && !message.complete) endAfterBody(message, response, body, timers)
  else response.end(body)
  // A short reply is received within the stall timeout, or the connection is dead.
  const cancel = timers.after(stallMs, () => response.destroy(), true)
  response.once('close', cancel)
}

/** Up to this size Node discards an unread body and keeps the connection, in bytes. */
const MAX_DISCARDED_BYTES = 1024 * 1024

/** Limits of what is discarded of a larger body before the connection closes, in ms and bytes. */
const MAX_DISCARD_MS = 1_000
const MAX_DISCARDED_BEFORE_CLOSE_BYTES = 16 * 1024 * 1024

/**
 * Writes the rest of a reply, and closes the connection when the client has stopped sending its body. Closed at once, a
 * connection with unread bytes is reset, and the reset destroys the reply on its way.
 */
function endAfterBody(
  message: IncomingMessage,
  response: ServerResponse,
  body: string | Uint8Array | undefined,
  timers: Timers,
): void {
  // The declared length tells the client that the reply is complete.
  if (body === undefined) response.flushHeaders()
  else response.write(body)
  let bytes = 0
  const end = () => {
    cancel()
    message.pause()
    response.end()
  }
  const cancel = timers.after(MAX_DISCARD_MS, end, true)
  message.once('end', end).once('close', end)
  // A reader that stopped midway still listens, and would keep the bytes.
  message.removeAllListeners('readable').on('data', (piece: Uint8Array) => {
    bytes += piece.length
    if (bytes > MAX_DISCARDED_BEFORE_CLOSE_BYTES) end()
  })
  message.resume()
}

/** Whether a request is answered before its large body was received. */
function leavesLargeBody({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  return coding !== undefined || Number(length ?? 0) > MAX_DISCARDED_BYTES
}

const withClose = (reply: ReadyReply): ReadyReply => ({ ...reply, headers: { ...reply.headers, connection: 'close' } })

/** HTTP/2 forbids connection headers. */
function headersOf({ headers }: ReadyReply, { httpVersionMajor }: IncomingMessage): ReadyReply['headers'] {
  if (httpVersionMajor < 2) return headers
  const { connection, ...rest } = headers
  return rest
}

/** Writes below this size need no drain callback, in bytes. */
const SMALL_WRITE_BYTES = 2048

class NodeSink extends BatchingSink {
  readonly #response: ServerResponse
  readonly #onFlushed = (): void => this.onDrain()

  constructor(response: ServerResponse) {
    super()
    this.#response = response
    response.on('drain', () => this.onDrain())
    response.once('close', () => this.onClose())
    // A broken socket also emits `close`.
    response.on('error', () => {})
    // The client left before this sink existed, so `close` will not be emitted again.
    if (response.destroyed) queueMicrotask(() => this.onClose())
  }

  protected get isOpen(): boolean {
    return !this.#response.destroyed
  }

  protected get nodeBytes(): number {
    return this.#response.writableLength
  }

  protected get handleBytes(): number {
    return handleBytesOf(this.#response.socket)
  }

  protected pieceOf(bytes: Uint8Array): Uint8Array {
    return bytes
  }

  protected send(pieces: readonly Uint8Array[]): void {
    const [first] = pieces as [Uint8Array]
    const bytes = pieces.length === 1 ? first : Buffer.concat(pieces)
    // Node emits `drain` only after larger writes.
    if (this.nodeBytes + bytes.length < SMALL_WRITE_BYTES) this.#response.write(bytes)
    else this.#response.write(bytes, this.#onFlushed)
  }

  end(): void {
    this.flush()
    this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}
