// A process of the schedules: opens a store on request, and drives runs or submits answers until it is closed or
// killed.

import { appendFileSync, writeFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import type { LogStore } from '@millrace/log'
import { messagesOfTest, reportEvent } from '../../../../../scripts/faults/process.ts'
import { agent } from '../../define/agent.ts'
import { createWorker, type Worker } from '../../index.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { recordAppends, type WriteLine } from '../crash/ledger.fixture.ts'
import { AnsweringProcess } from './answering-process.fixture.ts'
import { load, openStoreSpec } from './open-store.fixture.ts'
import {
  loggerOf,
  type Opening,
  type ProcessMessage,
  type ProcessOrder,
  type StoreSpec,
} from './process-messages.fixture.ts'
import { PROGRAMS } from './programs.fixture.ts'
import { storeWithPoints } from './store-points.fixture.ts'

/** Poll interval of a process, in ms. */
const POLL_MS = 20

/** Another program without runs. */
const unrelatedAgent = agent({ name: 'unrelated', model: scriptedModel([]) })

// Pipes are written synchronously.
const report = (message: ProcessMessage): void => void reportEvent('process-message', message)

class DriverWork {
  readonly #store: LogStore
  readonly #worker: Worker

  constructor(store: LogStore, opening: Opening, writeLine: WriteLine) {
    const { tag, leaseMs, paceMs, program, hasProgram, ledger } = opening
    this.#store = store
    const { agents, workflows } = PROGRAMS[program]
    const options = { writeLine, paceMs, isFirst: (key: string) => isFirst(ledger, key) }
    this.#worker = createWorker({
      store: recordAppends(storeWithPoints(store, opening, report), writeLine),
      agents: hasProgram ? agents(options) : [unrelatedAgent],
      workflows: (hasProgram && workflows?.(options)) || [],
      engine: { pollMs: POLL_MS },
      // A process that sleeps is taken over after its lease.
      log: { leaseMs, maxBlockedMs: leaseMs, owner: tag },
      backoff: { firstMs: 1, longestMs: 5 },
      // Leases are short: a driver on a loaded machine may lose many.
      maxTakeovers: 1000,
      logger: loggerOf(report),
    })
  }

  async close(): Promise<void> {
    await this.#worker.stop()
    await this.#store.close()
    report({ kind: 'closed' })
  }
}

/** Whether this is the first call for a key in all processes. The first call creates a file. */
function isFirst(ledger: string, key: string): boolean {
  try {
    writeFileSync(`${ledger}.${key.replace(/[^\w]/g, '-')}`, '', { flag: 'wx' })
    return true
  } catch {
    return false
  }
}

// Loads the slow modules before the first order.
await load(process.argv[2] as StoreSpec['kind'])
flushCompileCache()
let work: DriverWork | AnsweringProcess | undefined
for await (const order of messagesOfTest<ProcessOrder>()) {
  if (order.do === 'open') work = await open(order)
  else if (order.do === 'close') await work?.close()
  else if (work instanceof AnsweringProcess) work.answer()
}

async function open(opening: Opening): Promise<DriverWork | AnsweringProcess> {
  const { tag, ledger, store, clients } = opening
  // Written data survives the death of this process.
  const writeLine: WriteLine = line => appendFileSync(ledger, `${JSON.stringify({ ...line, process: tag })}\n`)
  const opened = await openStoreSpec(store)
  return clients ? new AnsweringProcess(opened, opening, writeLine, report) : new DriverWork(opened, opening, writeLine)
}
