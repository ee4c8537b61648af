// A process of a cluster: runs a server or a worker until it is killed.

import { flushCompileCache } from 'node:module'
import { type LogStore, openStore } from '@millrace/log'
import { createWorker, type Logger } from '@millrace/runtime'
import { messagesOfTest, reportEvent } from '../../../../../scripts/faults/process.ts'
import { ENGINE_OPTIONS, WORKER_OPTIONS } from '../../../../../scripts/faults/sessions/session-server.fixture.ts'
import { createApp } from './cluster-app.fixture.ts'
import type { ClusterEvent, ClusterOrder } from './cluster-messages.fixture.ts'
import { AGENTS } from './followed-agents.fixture.ts'

// Needs no await: a write to a pipe is synchronous, so a kill cannot lose the event.
const report = (event: ClusterEvent): void => void reportEvent('cluster', event)

const logger: Logger = {
  // Some attempts fail by design.
  warn() {},
  error: (message, { cause }) => report({ kind: 'logged', message: `${message}: ${String(cause)}` }),
}

/** Opens a store. Imports the drivers, so that they are bundled: `openStore` finds no packages beside the bundle of this program. */
async function open(url: string): Promise<LogStore> {
  if (url.startsWith('redis:')) return (await import('@millrace/log/redis')).redisStore({ url })
  if (url.startsWith('postgres:')) return (await import('@millrace/log/postgres')).postgresStore({ url })
  return openStore(url)
}

flushCompileCache()
for await (const order of messagesOfTest<ClusterOrder>()) {
  const store = await open(order.store)
  if (order.do === 'serve') {
    const { port } = await createApp(store, logger).listen({ port: order.port })
    report({ kind: 'ready', port })
  } else {
    createWorker({
      store,
      agents: AGENTS,
      engine: ENGINE_OPTIONS,
      ...WORKER_OPTIONS,
      log: { leaseMs: order.leaseMs },
      // All schedules share the workers, so a run is also taken over after the kills of other schedules.
      maxTakeovers: 100,
      logger,
    })
    report({ kind: 'ready' })
  }
}
