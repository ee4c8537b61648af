// Serves a fetch handler of another system over HTTP, as its documentation mounts it.

import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

async function requestOf(incoming: IncomingMessage, url: string, signal: AbortSignal): Promise<Request> {
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece)
  const { method = 'GET' } = incoming
  const headers = Object.entries(incoming.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
  return new Request(url, { method, headers, signal, ...(method !== 'GET' && { body: Buffer.concat(pieces) }) })
}

export interface Listening {
  readonly url: string
  /** Destroys all connections at once. */
  cut(): void
}

/** Starts a server until the end of the test. */
export async function listen(handle: (request: Request) => Response | Promise<Response>): Promise<Listening> {
  const server = createServer(async (incoming, outgoing) => {
    const left = new AbortController()
    outgoing.on('close', () => left.abort())
    const response = await handle(await requestOf(incoming, `http://localhost${incoming.url}`, left.signal))
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    outgoing.flushHeaders()
    try {
      for await (const piece of response.body ?? []) {
        if (!outgoing.write(piece)) await Promise.race([once(outgoing, 'drain'), once(outgoing, 'close')])
        if (left.signal.aborted) break
      }
      outgoing.end()
    } catch {
      outgoing.destroy()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut: () => server.closeAllConnections() }
}
