// A plain server that writes each token as an MUI chunk in an SSE event. MUI has no server of its own.
import { openPeerServer } from './peer-server.ts'
import type { Server } from './served.ts'

export async function openPlain(folder: string): Promise<Server> {
  return openPeerServer(folder, async (incoming, response, answer, script) => {
    incoming.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    const say = (chunk: object) => response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    const messageId = `answer-${answer}`
    say({ type: 'start', messageId })
    say({ type: 'text-start', id: 'text-1' })
    await script.produce(answer, delta => say({ type: 'text-delta', id: 'text-1', delta }))
    say({ type: 'text-end', id: 'text-1' })
    say({ type: 'finish', messageId })
    response.end()
  })
}
