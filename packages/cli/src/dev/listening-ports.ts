import { subscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:net'

/** The ports that this process listens on, or is about to, from now on. */
export function listened(): () => readonly number[] {
  const ports = new Map<Server, number>()
  subscribe('tracing:net.server.listen:asyncStart', message => {
    const { server, options } = message as { readonly server: Server; readonly options: { readonly port?: unknown } }
    ports.set(server, Number(options.port))
    server.once('close', () => ports.delete(server))
  })
  return () => [...ports.values()]
}
