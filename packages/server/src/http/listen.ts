import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { isLoopback } from './loopback-host.ts'
import { errorReply } from './reply.ts'

/** The port of `listen()` without a `port`. */
export const DEFAULT_PORT = 4400

export interface ListenOptions {
  /** 4400, if nothing is said; 0 for any that is free. */
  readonly port?: number
  /** 127.0.0.1, if nothing is said. */
  readonly host?: string
}

/** A server that listens. */
export interface Listening {
  readonly url: string
  readonly port: number
  readonly server: Server
  /** Takes nobody in any more, tells those who read to come back, and closes the app. */
  close(): Promise<void>
}

/** What listens. */
export interface ListeningApp {
  readonly node: RequestListener
  /** Opens what it needs; throws where that cannot be had. */
  start(): Promise<void>
  close(): Promise<void>
}

/** How long those who are still connected have to take what they were told, once all is closed, in milliseconds. */
export const LINGER_MS = 1_000

/** Listens on a port of this machine, and beyond it only where whoever comes is asked who they are. */
export async function listen(app: ListeningApp, options: ListenOptions, isGuarded: boolean): Promise<Listening> {
  const { port = DEFAULT_PORT, host: requestedHost = '127.0.0.1' } = options
  const host = requestedHost.replace(/^\[(.*)\]$/, '$1')
  const named = host.includes(':') ? `[${host}]` : host
  if (!isGuarded && !isLoopback(named)) {
    throw new TypeError(
      `host: expected this machine, found ${host}: give the server an authorize to be reached from elsewhere`,
    )
  }
  // Headers that never end hold a socket, and nothing else does: a stream may be as long as it likes.
  const server = createServer({ headersTimeout: 20_000, requestTimeout: 120_000, keepAliveTimeout: 65_000 }, app.node)
  server.on('clientError', refuseUnreadable)
  await bound(server, port, host)
  try {
    await app.start()
  } catch (error) {
    await ended(server)
    throw error
  }
  const { port: taken } = server.address() as AddressInfo
  let closed: Promise<void> | undefined
  const close = async () => {
    // At once: whoever is started next may have the port.
    const gone = ended(server)
    await app.close()
    // Those who were answered meanwhile have nothing more to wait for, and who takes nothing holds nobody up.
    server.closeIdleConnections()
    const linger = setTimeout(() => server.closeAllConnections(), LINGER_MS)
    await gone
    clearTimeout(linger)
  }
  return {
    url: `http://${named}:${taken}`,
    port: taken,
    server,
    close: () => {
      closed ??= close()
      return closed
    },
  }
}

/** What keeps a port from being listened on, and what to do. */
const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there: stop it, or listen({ port }) on another, 0 for any that is free',
  EACCES: 'this process may not listen there: listen({ port }) on one from 1024 on',
  EADDRNOTAVAIL: 'this machine has no such address: listen({ host }) on one that it has',
  ENOTFOUND: 'there is no such host: listen({ host }) on one that this machine has',
}

async function bound(server: Server, port: number, host: string): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, resolve)
    })
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    if (WHY[code] === undefined) throw cause
    throw Object.assign(new Error(`${host}, port ${port}: ${WHY[code]}`, { cause }), { code })
  }
}

const ended = (server: Server): Promise<void> => new Promise(resolve => server.close(() => resolve()))

/** Replies to input that Node could not parse as HTTP, by the error code. */
const STATUSES: Readonly<Record<string, readonly [status: number, why: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers: expected fewer'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'body: expected no extensions of its chunks'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not come in time'],
}

/** Answers on a socket on which no request could be read, and closes it. */
function refuseUnreadable(error: Error & { readonly code?: string }, socket: Duplex): void {
  // Whoever reads an answer already would take this for a part of it.
  const { headersSent = false } = (socket as { _httpMessage?: { headersSent?: boolean } | null })._httpMessage ?? {}
  if (!socket.writable || headersSent) {
    socket.destroy()
    return
  }
  const [status, message] = STATUSES[error.code ?? ''] ?? [400, 'expected a request that HTTP knows']
  const { headers, body } = errorReply(status, { code: 'request_invalid', message, retryable: status === 408 })
  const allHeaders = { ...headers, 'content-length': Buffer.byteLength(body as string), connection: 'close' }
  const lines = Object.entries(allHeaders).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy())
}
