// A plain server that writes each token as an MUI chunk in an SSE event. MUI has no server of its own.

import type { SystemServer } from './open-server.ts'
import { openPeerServer } from './peer-server.ts'

export async function openPlain(folder: string): Promise<SystemServer> {
  return openPeerServer(folder, async (incoming, response, answer, script) => {
    incoming.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    const send = (chunk: object) => response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    const messageId = `answer-${answer}`
    send({ type: 'start', messageId })
    send({ type: 'text-start', id: 'text-1' })
    await script.produce(answer, delta => send({ type: 'text-delta', id: 'text-1', delta }))
    send({ type: 'text-end', id: 'text-1' })
    send({ type: 'finish', messageId })
    response.end()
  })
}
