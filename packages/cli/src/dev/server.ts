// The HTTP process of a dev host: serves the app and the studio.

import { subscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:net'
import { memoryStore } from '@millrace/log'
import type { App, Listening } from '@millrace/server'
import { PAGE_POLICY } from '@millrace/server/internal'
import { isMemoryStore, withoutAuthorizeWarning, withShortGrace } from './app-options.ts'
import { fail, handleSupervisorMessages, send, startOptions } from './child-runtime.ts'
import { assertNotListening, loadApp, recreateApp } from './load-app.ts'
import { Studio } from './studio.ts'
import { Tabs } from './tabs.ts'

const { file, page, port, studioPort, delays } = startOptions()
/** Images from agents are inline in the log, so the studio needs `data:` URLs. */
const studioFiles = { folder: page, headers: { 'content-security-policy': `${PAGE_POLICY}; img-src 'self' data:` } }
const tabs = new Tabs(delays, () => studio?.delaysChanged())
let studio: Studio | undefined
const listening: Listening[] = []

handleSupervisorMessages(
  async () => {
    studio?.close()
    await Promise.all(listening.map(server => server.close()))
  },
  message => message.type === 'host' && studio?.update(message.host),
)

try {
  const ports = trackListeningPorts()
  const app = await loadApp(file)
  assertNotListening(file, port, ports())
  const isSingleProcess = await isMemoryStore(app.options.store)
  studio = new Studio({ tabs, isSingleProcess, send })
  send({ type: 'loaded', isSingleProcess })
  const options = withoutAuthorizeWarning(withShortGrace(app.options))
  // A memory store is opened here, because two apps share it.
  const store = isSingleProcess && typeof options.store === 'string' ? { store: memoryStore() } : {}
  const engine = isSingleProcess ? {} : { engine: false as const }
  const { static: files, basePath = '' } = options
  if (files === undefined && basePath === '') {
    listening.push(
      await withStudio(recreateApp(app, { ...options, ...store, ...engine, static: studioFiles }), studio).listen({
        port,
      }),
    )
  } else {
    listening.push(await recreateApp(app, { ...options, ...store, ...engine }).listen({ port }))
    const studioApp = recreateApp(app, { ...options, ...store, engine: false, static: studioFiles, basePath: '' })
    const nextPort = studioPort ?? (port === 0 ? 0 : port + 1)
    listening.push(await withStudio(studioApp, studio).listen({ port: nextPort }))
  }
  const [first, last] = [listening[0], listening.at(-1)]
  if (first && last) send({ type: 'listening', port: first.port, studioPort: last.port })
} catch (error) {
  fail(error)
}

/** Adds the routes of the studio to an app. */
function withStudio(app: App, studio: Studio): App {
  const { node } = app
  // Before it listens, so that a page that reconnects at once finds the routes of the host.
  return Object.assign(app, {
    node: (...[message, response]: Parameters<App['node']>) => {
      const [path = ''] = (message.url ?? '').split('?', 1)
      if (path.startsWith('/studio/'))
        return void studio.handle(path, message, response).catch(() => response.destroy())
      tabs.track(message, response)
      const isRead = message.method === 'GET' || message.method === 'HEAD'
      // The page has its own client-side routes.
      if (isRead && /^\/inspect(\/|$)/.test(path)) message.url = '/'
      node(message, response)
    },
  })
}

/** Tracks the ports that this process listens on, or is about to, from this call on. Returns a function that lists them. */
function trackListeningPorts(): () => readonly number[] {
  const ports = new Map<Server, number>()
  subscribe('tracing:net.server.listen:asyncStart', message => {
    const { server, options } = message as { readonly server: Server; readonly options: { readonly port?: unknown } }
    ports.set(server, Number(options.port))
    server.once('close', () => ports.delete(server))
  })
  return () => [...ports.values()]
}
