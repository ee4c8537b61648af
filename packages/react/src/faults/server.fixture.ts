// A server in a process of its own, which can be killed: an agent that says a long text, and the page that shows it.

import { agent, scriptedModel } from '@millrace/runtime'
import { millrace } from '@millrace/server'
import { messages, tell } from '../../../../scripts/faults/process.ts'
import { ANSWER } from './text.fixture.ts'

interface Order {
  readonly store: string
  readonly folder: string
  readonly port: number
}

for await (const { store, folder, port } of messages<Order>()) {
  const model = scriptedModel([{ text: ANSWER }], { paceMs: 5 })
  const app = millrace({
    store,
    static: folder,
    agents: [agent({ name: 'long', model })],
    engine: { pollMs: 50 },
    log: { leaseMs: 500 },
    stream: { heartbeatMs: 2000 },
    maxTakeovers: 100,
    logger: { warn() {}, error() {} },
  })
  await tell('ready', { port: (await app.listen({ port })).port })
}
