// Hono's `streamSSE`, which writes the model's words as they arrive.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { type Handler, Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { onCleanup } from '../../harness/cleanup.ts'
import { CurrentModel } from './current-model.ts'
import type { AnswerServer } from './streaming.ts'

/** Starts a server until cleanup. Returns its port. */
export async function listenWithHono(answer: Handler): Promise<number> {
  const app = new Hono()
  app.get('/:name', answer)
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  if (!server.listening) await once(server, 'listening')
  onCleanup(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

export async function serveHono(): Promise<AnswerServer> {
  const current = new CurrentModel()
  const port = await listenWithHono(context =>
    streamSSE(context, async stream => {
      for await (const data of current.events()) await stream.writeSSE({ data })
    }),
  )
  return current.serverAt(port)
}
