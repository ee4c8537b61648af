// Hono's `streamSSE`, on its server for Node.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { type SSEStreamingApi, streamSSE } from 'hono/streaming'
import { onCleanup } from '../../harness/cleanup.ts'
import type { PlainEntry, SessionServer } from './session-server.ts'

/** Serves all entries that are appended after a reader connects: by `writeSSE`, or by one `write` per batch. */
export async function serveHono(isEach: boolean): Promise<SessionServer> {
  const streams = new Set<SSEStreamingApi>()
  const app = new Hono()
  app.get('/', context =>
    streamSSE(context, async stream => {
      await stream.write(': here\n\n')
      streams.add(stream)
      await new Promise<void>(resolve => stream.onAbort(resolve))
      streams.delete(stream)
    }),
  )
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  if (!server.listening) await once(server, 'listening')
  onCleanup(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  })
  let sequence = 0
  return {
    live: { port: (server.address() as AddressInfo).port, path: '/', format: 'events' },
    async append(chunks) {
      const timestamp = Date.now()
      const events = chunks.map(chunk => {
        const entry: PlainEntry = { sequence: ++sequence, timestamp, chunk }
        return { id: String(sequence), data: JSON.stringify(entry) }
      })
      if (isEach) {
        await Promise.all(
          [...streams].map(async stream => {
            for (const event of events) await stream.writeSSE(event)
          }),
        )
      } else {
        const bytes = Buffer.from(events.map(({ id, data }) => `id: ${id}\ndata: ${data}\n\n`).join(''))
        await Promise.all([...streams].map(stream => stream.write(bytes)))
      }
    },
  }
}
