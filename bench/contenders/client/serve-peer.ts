// A plain HTTP server for the pages of the peers. It responds with their own events, one per delta.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { emitPaced, type PacedDeltas } from '../../fixtures/paced.ts'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import type { Peer, ServedPage } from './page.ts'

/** Events of each peer before the deltas, per delta, and after them. */
const peerEvents: Record<Peer, { before: object[]; delta: (delta: string) => object; after: object[] }> = {
  mui: {
    before: [
      { type: 'start', messageId: 'answer' },
      { type: 'text-start', id: 'text-1' },
    ],
    delta: delta => ({ type: 'text-delta', id: 'text-1', delta }),
    after: [
      { type: 'text-end', id: 'text-1' },
      { type: 'finish', messageId: 'answer' },
    ],
  },
  ai: {
    before: [
      { type: 'start', messageId: 'answer' },
      { type: 'text-start', id: 'text-1' },
    ],
    delta: delta => ({ type: 'text-delta', id: 'text-1', delta }),
    after: [{ type: 'text-end', id: 'text-1' }, { type: 'finish' }],
  },
  tanstack: {
    before: [
      { type: 'RUN_STARTED', runId: 'run-1', threadId: 'thread-1' },
      { type: 'TEXT_MESSAGE_START', messageId: 'answer', role: 'assistant' },
    ],
    delta: delta => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'answer', delta }),
    after: [
      { type: 'TEXT_MESSAGE_END', messageId: 'answer' },
      { type: 'RUN_FINISHED', runId: 'run-1', threadId: 'thread-1' },
    ],
  },
}

const openServer = openOnce(async (folder: string) => {
  const handler: { respond: (response: ServerResponse) => void } = { respond: response => response.destroy() }
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') {
      request.resume()
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
      return handler.respond(response)
    }
    const isScript = request.url?.startsWith('/page.js')
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' })
    response.end(await readFile(join(folder, isScript ? 'page.js' : 'index.html')))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onCleanup(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, handler }
})

/** Serves a page and answers its next request. */
export async function servePeer(peer: Peer, folder: string, messages: number, paced: PacedDeltas): Promise<ServedPage> {
  const { url, handler } = await openServer(folder)
  const { before, delta, after } = peerEvents[peer]
  const { promise, resolve } = Promise.withResolvers<ServerResponse>()
  handler.respond = resolve
  return {
    url: `${url}/?messages=${messages}`,
    async answer() {
      const response = await promise
      const send = (event: object) => response.write(`data: ${JSON.stringify(event)}\n\n`)
      before.forEach(send)
      await emitPaced(paced, text => send(delta(text)))
      after.forEach(send)
      response.end()
    },
  }
}
