import { createServer, type RequestListener, type Server, STATUS_CODES } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { isLoopback } from './loopback-host.ts'
import { errorReply } from './reply.ts'

/** The port that `listen()` uses by default. */
export const DEFAULT_PORT = 4400

/** Options of `listen`. */
export interface ListenOptions {
  /** Port. 0 selects a free port. @default 4400 */
  readonly port?: number
  /** Host name or address. Other than loopback needs the `authorize` option. @default '127.0.0.1' */
  readonly host?: string
}

/** A server that is listening. */
export interface Listening {
  /** The base URL, such as `http://127.0.0.1:4400`. */
  readonly url: string
  /** The port, also if 0 was requested. */
  readonly port: number
  /** The HTTP server of Node. */
  readonly server: Server
  /** Stops accepting connections, asks the open streams to reconnect elsewhere, and closes the app. */
  close(): Promise<void>
}

/** The app that a server listens for. */
export interface ListeningApp {
  readonly node: RequestListener
  /** Maximum time until a whole body has arrived, in ms. */
  readonly bodyMs: number
  /** Opens the store. @throws if the store cannot be opened */
  start(): Promise<void>
  close(): Promise<void>
}

/** Time for clients to receive the last bytes after the app is closed, in ms. */
export const LINGER_MS = 1_000

/** Time for the headers of a request to arrive, in ms. */
const HEADERS_TIMEOUT_MS = 20_000

/** Listens on a port. Hosts other than loopback need an app with `authorize`. @throws if the host is not allowed or the port cannot be bound */
export async function listen(app: ListeningApp, options: ListenOptions, isGuarded: boolean): Promise<Listening> {
  const { port = DEFAULT_PORT, host: requestedHost = '127.0.0.1' } = options
  const host = requestedHost.replace(/^\[(.*)\]$/, '$1')
  const urlHost = host.includes(':') ? `[${host}]` : host
  if (!isGuarded && !isLoopback(urlHost)) {
    throw new TypeError(
      `host: expected a loopback address, found ${host}: set the authorize option to accept requests from other machines`,
    )
  }
  // The timeouts close sockets with incomplete requests, also if no route reads their bodies. Streams have no time limit.
  const requestTimeout = HEADERS_TIMEOUT_MS + app.bodyMs
  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout, keepAliveTimeout: 65_000 },
    app.node,
  )
  server.on('clientError', refuseUnreadable)
  await bind(server, port, host)
  try {
    await app.start()
  } catch (error) {
    await closeServer(server)
    throw error
  }
  const { port: boundPort } = server.address() as AddressInfo
  let closed: Promise<void> | undefined
  const close = async () => {
    // Frees the port at once: the next process may need it.
    const serverClosed = closeServer(server)
    await app.close()
    // Closes idle connections. A client that reads nothing must not delay the shutdown.
    server.closeIdleConnections()
    const linger = setTimeout(() => server.closeAllConnections(), LINGER_MS)
    await serverClosed
    clearTimeout(linger)
  }
  return {
    url: `http://${urlHost}:${boundPort}`,
    port: boundPort,
    server,
    close: () => {
      closed ??= close()
      return closed
    },
  }
}

/** Why a port cannot be bound, and what to do, by error code. */
const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there: stop it, or call listen({ port }) with another port, 0 for any free one',
  EACCES: 'this process may not listen there: call listen({ port }) with a port of at least 1024',
  EADDRNOTAVAIL: 'this machine has no such address: call listen({ host }) with one of its addresses',
  ENOTFOUND: 'there is no such host: call listen({ host }) with an address of this machine',
}

async function bind(server: Server, port: number, host: string): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, resolve)
    })
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    if (LISTEN_ERRORS[code] === undefined) throw cause
    throw Object.assign(new Error(`${host}, port ${port}: ${LISTEN_ERRORS[code]}`, { cause }), { code })
  }
}

const closeServer = (server: Server): Promise<void> => new Promise(resolve => server.close(() => resolve()))

/** Replies to input that Node could not parse as HTTP, by the error code. */
const STATUSES: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers: expected a smaller total size'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'body: expected no chunk extensions'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request was not complete in time: send it again'],
}

/** Answers a request that Node could not parse, and closes the socket. */
function refuseUnreadable(error: Error & { readonly code?: string }, socket: Duplex): void {
  // A response on this socket has begun: the client would read this reply as part of it.
  const { headersSent = false } = (socket as { _httpMessage?: { headersSent?: boolean } | null })._httpMessage ?? {}
  if (!socket.writable || headersSent) {
    socket.destroy()
    return
  }
  const [status, message] = STATUSES[error.code ?? ''] ?? [400, 'expected a valid HTTP request']
  const { headers, body } = errorReply(status, { code: 'request_invalid', message, retryable: status === 408 })
  const allHeaders = { ...headers, 'content-length': Buffer.byteLength(body as string), connection: 'close' }
  const lines = Object.entries(allHeaders).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy())
}
