// A process of the schedules: a server or a worker, as it is told, until it is killed.

import { flushCompileCache } from 'node:module'
import { openStore } from '@millrace/log'
import { createWorker, type Logger } from '@millrace/runtime'
import { messages, tell } from '../../../../scripts/faults/process.ts'
import { AGENTS } from './agents.fixture.ts'
import { serverOf } from './server.fixture.ts'
import type { Order, Told } from './told.fixture.ts'

/** How often a worker looks for what is due. */
const POLL_MS = 20

// A pipe takes it before the call returns.
const say = (told: Told): void => void tell('told', told)

const logger: Logger = {
  // Some attempts fail by design.
  warn() {},
  error: (message, { cause }) => say({ kind: 'logged', message: `${message}: ${String(cause)}` }),
}

flushCompileCache()
for await (const order of messages<Order>()) {
  const store = await openStore(order.store)
  if (order.do === 'serve') {
    const { port } = await serverOf(store, logger).listen({ port: order.port })
    say({ kind: 'ready', port })
  } else {
    createWorker({
      store,
      agents: AGENTS,
      engine: { pollMs: POLL_MS, concurrency: 64 },
      log: { leaseMs: order.leaseMs },
      backoff: { first: 1, longest: 5 },
      // Whoever is killed is killed with the runs of many schedules.
      maxTakeovers: 100,
      logger,
    })
    say({ kind: 'ready' })
  }
}
