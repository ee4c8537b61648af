// Plain node http, which writes the model's words as they arrive.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onCleanup } from '../../harness/cleanup.ts'
import { CurrentModel } from './current-model.ts'
import type { AnswerServer } from './streaming.ts'

/** Starts a server until cleanup. Returns its port. */
export async function listen(answer: RequestListener): Promise<number> {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onCleanup(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

export async function servePlain(): Promise<AnswerServer> {
  const current = new CurrentModel()
  const port = await listen(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    for await (const event of current.events()) response.write(`data: ${event}\n\n`)
    response.end()
  })
  return current.serverAt(port)
}
