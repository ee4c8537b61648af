// A process of the schedules: opens the given store, then writes, drives, reads and answers on request, until it is closed
// or killed.

import { flushCompileCache } from 'node:module'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { messagesOfTest, reportEvent } from '../../../../../scripts/faults/process.ts'
import { StreamManager } from '../../manager/stream-manager.ts'
import { LogError } from '../../store/log-error.ts'
import type { LogStore } from '../../store/log-store.ts'
import { driveRun, SharedDriverState } from './drive-run.fixture.ts'
import { answerQuestions, failureMessage, followLog } from './readers-and-guests.fixture.ts'
import type { ProcessOrder, ReportMessage, Run } from './store-process-messages.fixture.ts'
import { load, openStoreSpec, type StoreSpec } from './store-spec.fixture.ts'

/** Polling interval for changes without a notification, in ms. */
const POLL_MS = 20

const reportMessage: ReportMessage = message => reportEvent('message', { ...message, at: Date.now() })

/** A store that reports calls without an answer. Their callers retry. */
function reportingStore(store: LogStore): LogStore {
  return new Proxy(store, {
    get(target, name: keyof LogStore) {
      const value = target[name]
      if (typeof value !== 'function') return value
      const call = value.bind(target) as (...args: unknown[]) => unknown
      return (...args: unknown[]) => {
        const result = call(...args)
        if (!(result instanceof Promise)) return result
        return result.catch(async error => {
          const { code, message } = failureMessage(name, error)
          if (code === 'unavailable') await reportMessage({ kind: 'call-failed', operation: name, message })
          throw error
        })
      }
    },
  })
}

/** The work of a process on one store. */
class StoreWork {
  readonly #store: LogStore
  readonly #manager: StreamManager
  readonly #shared: SharedDriverState
  readonly #ending = new AbortController()
  readonly #jobs = new Set<Promise<unknown>>()

  constructor(store: LogStore, { tag, plan, leaseMs }: Extract<ProcessOrder, { do: 'open' }>) {
    this.#store = reportingStore(store)
    const bounds = { leaseMs, retryTimeoutMs: 90_000, blobBytes: 2048 }
    this.#manager = new StreamManager({ store: this.#store, owner: tag, ...bounds })
    this.#shared = new SharedDriverState(this.#manager, tag, plan, reportMessage)
  }

  execute(order: ProcessOrder): void {
    const { signal } = this.#ending
    if (order.do === 'write') this.#track(`write ${order.run.runId}`, this.#write(order.run, order.takeover))
    else if (order.do === 'drive') this.#track('drive', this.#drive(order.program))
    else if (order.do === 'grant') this.#shared.grant(order.n)
    else if (order.do === 'finish') this.#shared.finish(order.streamIds)
    else if (order.do === 'read') {
      this.#track('read', followLog(this.#manager, order.reader, order.streamId, order.after, signal, reportMessage))
    } else if (order.do === 'answer') {
      this.#track('answer', answerQuestions(this.#manager, order.guest, order.streamId, signal, reportMessage))
    }
  }

  async close(): Promise<void> {
    this.#ending.abort()
    await this.#manager.close()
    await this.#store.close()
    await Promise.all(this.#jobs)
  }

  #track(operation: string, work: Promise<unknown>): void {
    const job: Promise<unknown> = work
      .catch(async error => {
        if (!this.#ending.signal.aborted) await reportMessage(failureMessage(operation, error))
      })
      .finally(() => this.#jobs.delete(job))
    this.#jobs.add(job)
  }

  /** Writes a run until it ends or is taken over. Waits for a leased log, and claims a regressed log again. */
  async #write(run: Run, takeover: boolean): Promise<void> {
    for (let takesOver = takeover; !this.#ending.signal.aborted; ) {
      const code = await this.#try(run, takesOver)
      takesOver = false
      if (code === 'busy') await pause(POLL_MS)
      else if (code !== 'regressed') return
    }
  }

  async #drive(program: string): Promise<void> {
    const driven = new Set<string>()
    while (!this.#ending.signal.aborted) {
      for (const streamId of await this.#manager.due([program], 4)) {
        const ticket = (await this.#manager.getInfo(streamId))?.ticket
        const runId = ticket?.run?.runId ?? ticket?.requests[0]?.runId
        // Another process may have been faster, or this process is about to release it.
        if (runId === undefined || driven.has(streamId)) continue
        driven.add(streamId)
        const work = this.#try({ streamId, runId, program }, false).finally(() => driven.delete(streamId))
        this.#track(`drive ${runId}`, work)
      }
      await pause(POLL_MS)
    }
  }

  /** Drives a run as far as possible. Returns why it did not end. */
  async #try(run: Run, takeover: boolean): Promise<string | undefined> {
    try {
      await driveRun(this.#shared, run, takeover)
      return undefined
    } catch (error) {
      if (!(error instanceof LogError)) throw error
      const { code, message } = error
      if (code !== 'busy') await reportMessage({ kind: 'lost', streamId: run.streamId, code, message })
      return code
    }
  }
}

// Slow initialisation happens before it is needed.
await load(process.argv[2] as StoreSpec['kind'])
flushCompileCache()
await reportEvent('ready')
let work: StoreWork | undefined
let lock: DatabaseSync | undefined
for await (const order of messagesOfTest<ProcessOrder>()) {
  if (order.do === 'open') work = new StoreWork(await openStoreSpec(order.store), order)
  else if (order.do === 'lock') {
    lock = new DatabaseSync(order.path, { timeout: 10_000 })
    lock.exec('BEGIN IMMEDIATE; UPDATE streams SET touched = touched + 1')
    await reportMessage({ kind: 'locked' })
  } else if (order.do === 'unlock') lock?.close()
  else if (order.do === 'sync') await reportMessage({ kind: 'synced', n: order.n })
  else if (order.do === 'close') {
    await work?.close()
    await reportMessage({ kind: 'closed' })
  } else work?.execute(order)
}
