// Plain node http: each batch is encoded once and sent to each reader in one write.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onCleanup } from '../../harness/cleanup.ts'
import type { PlainEntry, SessionServer } from './session-server.ts'

/** Serves all entries that are appended after a reader connects. */
export async function servePlain(): Promise<SessionServer> {
  const responses = new Set<ServerResponse>()
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write(': here\n\n')
    responses.add(response)
    response.once('close', () => responses.delete(response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onCleanup(() => {
    server.closeAllConnections()
    server.close()
  })
  let sequence = 0
  return {
    live: { port: (server.address() as AddressInfo).port, path: '/', format: 'events' },
    append(chunks) {
      const timestamp = Date.now()
      let text = ''
      for (const chunk of chunks) {
        const entry: PlainEntry = { sequence: ++sequence, timestamp, chunk }
        text += `id: ${sequence}\ndata: ${JSON.stringify(entry)}\n\n`
      }
      const bytes = Buffer.from(text)
      for (const response of responses) response.write(bytes)
    },
  }
}
