import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isLoopback } from '../guard/loopback.ts'
import { DEFAULT_PORT } from '../options.ts'

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

interface Listener {
  readonly node: Parameters<typeof createServer>[1]
  close(): Promise<void>
}

/** Listens on a port of this machine, and beyond it only where whoever comes is asked who they are. */
export async function listen(app: Listener, options: ListenOptions, isGuarded: boolean): Promise<Listening> {
  const { port = DEFAULT_PORT, host = '127.0.0.1' } = options
  if (!isGuarded && !isLoopback(host.includes(':') ? `[${host}]` : host)) {
    throw new TypeError(
      `host: expected this machine, found ${host}: give the server an authorize to be reached from elsewhere`,
    )
  }
  // Headers that never end hold a socket, and nothing else does: a stream may be as long as it likes.
  const server = createServer(
    { headersTimeout: 20_000, requestTimeout: 120_000, keepAliveTimeout: 65_000 },
    app.node as never,
  )
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    server,
    close: async () => {
      const closed = new Promise(resolve => server.close(resolve))
      await app.close()
      server.closeIdleConnections()
      await closed
    },
  }
}
