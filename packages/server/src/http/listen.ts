import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DEFAULT_PORT } from '../app/options.ts'
import { isLoopback } from '../auth/loopback.ts'
import { refuseUnread } from './unread.ts'

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
export interface Listener {
  readonly node: RequestListener
  /** Opens what it needs; throws where that cannot be had. */
  start(): Promise<void>
  close(): Promise<void>
}

/** How long those who are still connected have to take what they were told, once all is closed, in milliseconds. */
export const LINGER_MS = 1_000

/** Listens on a port of this machine, and beyond it only where whoever comes is asked who they are. */
export async function listen(app: Listener, options: ListenOptions, isGuarded: boolean): Promise<Listening> {
  const { port = DEFAULT_PORT, host: given = '127.0.0.1' } = options
  const host = given.replace(/^\[(.*)\]$/, '$1')
  const named = host.includes(':') ? `[${host}]` : host
  if (!isGuarded && !isLoopback(named)) {
    throw new TypeError(
      `host: expected this machine, found ${host}: give the server an authorize to be reached from elsewhere`,
    )
  }
  // Headers that never end hold a socket, and nothing else does: a stream may be as long as it likes.
  const server = createServer({ headersTimeout: 20_000, requestTimeout: 120_000, keepAliveTimeout: 65_000 }, app.node)
  server.on('clientError', refuseUnread)
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
