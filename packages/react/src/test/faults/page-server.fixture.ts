// A server in a process of its own that can be killed: an agent with a long answer, and the page that shows it.

import { agent, scriptedModel } from '@millrace/runtime'
import { millrace } from '@millrace/server'
import { messagesOfTest, reportEvent } from '../../../../../scripts/faults/process.ts'
import { ANSWER } from './answer.fixture.ts'

interface ServeOrder {
  readonly store: string
  readonly folder: string
  readonly port: number
}

for await (const { store, folder, port } of messagesOfTest<ServeOrder>()) {
  const model = scriptedModel([{ text: ANSWER }], { paceMs: 5 })
  const app = millrace({
    store,
    static: folder,
    agents: [agent({ name: 'long', model })],
    engine: { pollMs: 50 },
    log: { leaseMs: 500 },
    stream: { heartbeatMs: 1000 },
    maxTakeovers: 100,
    logger: { warn() {}, error() {} },
  })
  const listening = await app.listen({ port })
  // A browser may send its next request on an idle connection that a schedule has stalled, and would wait for 15 s.
  listening.server.keepAliveTimeout = 100
  await reportEvent('ready', { port: listening.port })
}
