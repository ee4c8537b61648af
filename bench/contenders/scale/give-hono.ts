// Hono's `streamSSE`: a model's words are written as they come.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { type Handler, Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { onCleanup } from '../../harness/cleanup.ts'
import { Asked } from './give-peer.ts'
import type { Giving } from './streaming.ts'

/** Where a server listens that answers so, until all is measured. */
export async function honoListening(answer: Handler): Promise<number> {
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

export async function giveHono(): Promise<Giving> {
  const asked = new Asked()
  const port = await honoListening(context =>
    streamSSE(context, async stream => {
      for await (const data of asked.events()) await stream.writeSSE({ data })
    }),
  )
  return asked.givingAt(port)
}
