// A process that drives runs whose tool blocks the event loop. It records each execution of the tool, and reports when it has
// started and when it has lost a session to another process.

import { appendFileSync, existsSync } from 'node:fs'
import { z } from 'zod'
import { messagesOfTest, reportEvent } from '../../../../../scripts/faults/process.ts'
import { agent, createRuntime, scriptedModel, tool } from '../../index.ts'
import { openStoreSpec } from '../process/open-store.fixture.ts'
import type { StoreSpec } from '../process/process-messages.fixture.ts'

export interface ComputingOrder {
  readonly spec: StoreSpec
  /** Gets one line per execution of the tool. */
  readonly ledger: string
  /** How long the tool blocks the event loop: a time in ms, or until this file exists. */
  readonly block: number | string
  readonly log: { readonly leaseMs?: number; readonly maxBlockedMs?: number }
  /** How far ahead the wall clock of this process is, in ms. */
  readonly aheadMs?: number
}

async function drive({ spec, ledger, block, log, aheadMs = 0 }: ComputingOrder): Promise<void> {
  const wallClock = Date.now
  if (aheadMs > 0) Date.now = () => wallClock() + aheadMs
  const compute = tool({
    name: 'compute',
    inputSchema: z.object({}),
    execute() {
      // Written synchronously: the event loop is about to be blocked.
      appendFileSync(ledger, `${process.pid}\n`)
      const end = performance.now() + (typeof block === 'number' ? block : Number.POSITIVE_INFINITY)
      while (performance.now() < end && !(typeof block === 'string' && existsSync(block)));
      return `computed by ${process.pid}`
    },
  })
  const clerk = agent({
    name: 'clerk',
    model: scriptedModel(({ answers }) =>
      answers === 0 ? { calls: [{ name: 'compute', input: {} }] } : { text: 'Done.' },
    ),
    tools: [compute],
  })
  createRuntime({
    store: await openStoreSpec(spec),
    agents: [clerk],
    log,
    engine: { keepsAlive: true },
    logger: {
      warn: message => void (message === 'lost the lease of a session' && reportEvent('lost')),
      error: message => void reportEvent('failed', { message }),
    },
  })
  await reportEvent('drives')
}

for await (const order of messagesOfTest<ComputingOrder & Record<string, unknown>>()) await drive(order)
