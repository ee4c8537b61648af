// A process of the schedules: opens a store on request, and drives runs or submits answers until it is closed or
// killed.

import { appendFileSync, writeFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import type { LogStore } from '@millrace/log'
import { messages, tell } from '../../../../../scripts/faults/process.ts'
import { agent } from '../../define/agent.ts'
import { createWorker, type Worker } from '../../index.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { type Note, noted } from '../crash/ledger.fixture.ts'
import { Front } from './front.fixture.ts'
import { load, openSpec } from './open-store.fixture.ts'
import { PROGRAMS } from './played-programs.fixture.ts'
import { pointed } from './points.fixture.ts'
import { loggerOf, type Opening, type Order, type StoreSpec, type Told } from './process-messages.fixture.ts'

/** Poll interval of a process, in ms. */
const POLL_MS = 20

/** Another program without runs. */
const stranger = agent({ name: 'stranger', model: scriptedModel([]) })

// Pipes are written synchronously.
const say = (told: Told): void => void tell('told', told)

class Work {
  readonly #store: LogStore
  readonly #worker: Worker

  constructor(store: LogStore, opening: Opening, note: Note) {
    const { tag, leaseMs, paceMs, program, isAble, ledger } = opening
    this.#store = store
    const { agents, workflows } = PROGRAMS[program]
    const options = { note, paceMs, isFirst: (key: string) => isFirst(ledger, key) }
    this.#worker = createWorker({
      store: noted(pointed(store, opening, say), note),
      agents: isAble ? agents(options) : [stranger],
      workflows: (isAble && workflows?.(options)) || [],
      engine: { pollMs: POLL_MS },
      log: { leaseMs, owner: tag },
      backoff: { first: 1, longest: 5 },
      // Leases are short, and a loaded machine may lose many.
      maxTakeovers: 1000,
      logger: loggerOf(say),
    })
  }

  async close(): Promise<void> {
    await this.#worker.stop()
    await this.#store.close()
    say({ kind: 'closed' })
  }
}

/** Whether this is the first time in any process. The first one creates a file. */
function isFirst(ledger: string, key: string): boolean {
  try {
    writeFileSync(`${ledger}.${key.replace(/[^\w]/g, '-')}`, '', { flag: 'wx' })
    return true
  } catch {
    return false
  }
}

// Slow initialization happens before it is needed.
await load(process.argv[2] as StoreSpec['kind'])
flushCompileCache()
let work: Work | Front | undefined
for await (const order of messages<Order>()) {
  if (order.do === 'open') work = await open(order)
  else if (order.do === 'close') await work?.close()
  else if (work instanceof Front) work.answer()
}

async function open(opening: Opening): Promise<Work | Front> {
  const { tag, ledger, store, crowd } = opening
  // Written data survives the death of this process.
  const note: Note = line => appendFileSync(ledger, `${JSON.stringify({ ...line, process: tag })}\n`)
  const opened = await openSpec(store)
  return crowd ? new Front(opened, opening, note, say) : new Work(opened, opening, note)
}
