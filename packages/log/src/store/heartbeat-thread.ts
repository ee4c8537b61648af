import type { Worker } from 'node:worker_threads'
import type { Heartbeat, HeldLease, KeptLease } from './heartbeat.ts'
import type { HeartbeatAnswer, HeartbeatRequest } from './heartbeat-messages.ts'
import { LogError } from './log-error.ts'

/** Starts the thread with the shared memory of the event loop's progress. */
export type StartHeartbeat = (progress: SharedArrayBuffer) => Worker

/**
 * A heartbeat in a thread with its own connection, started for the first lease. The thread never keeps the process alive.
 * After a failure it is not started again, and the leases must be renewed by the event loop.
 */
export class HeartbeatThread implements Heartbeat {
  readonly #start: StartHeartbeat
  readonly #progress = new SharedArrayBuffer(4)
  readonly #leases = new Map<number, HeldLease>()
  #worker: Worker | undefined
  #lastId = 0
  #failure: Error | undefined
  readonly #ready = Promise.withResolvers<void>()
  #hasTried = false
  #isConnected = false
  #closed: Promise<void> | undefined

  constructor(start: StartHeartbeat) {
    this.#start = start
  }

  get failure(): Error | undefined {
    return this.#failure
  }

  async ready(): Promise<boolean> {
    if (this.#tryStart() && !this.#hasTried) {
      // Without it, the process could end while the caller waits.
      this.#worker?.ref()
      await this.#ready.promise
    }
    return this.#isConnected && this.#failure === undefined
  }

  keep(lease: HeldLease): KeptLease {
    const { streamId, epoch, ttlMs, maxBlockedMs } = lease
    const id = ++this.#lastId
    const shared = new SharedArrayBuffer(8)
    this.#leases.set(id, lease)
    this.progress()
    this.#send({ kind: 'keep', lease: { id, streamId, epoch, ttlMs, maxBlockedMs, until: shared } })
    const until = new BigInt64Array(shared)
    return {
      get until() {
        return localTimeOf(Atomics.load(until, 0))
      },
      progress: () => this.progress(),
      stop: () => {
        if (this.#leases.delete(id)) this.#send({ kind: 'stop', id })
      },
    }
  }

  /** Reports that the event loop makes progress. */
  progress(): void {
    Atomics.add(new Int32Array(this.#progress), 0, 1)
  }

  /** Ends the thread and its connection. Leases are not renewed any more. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    const worker = this.#worker
    this.#onFailed(new LogError('closed', 'the store was closed: open another handle'))
    if (worker === undefined) return
    const ended = new Promise(resolve => worker.once('exit', resolve))
    worker.ref()
    worker.postMessage({ kind: 'close' } satisfies HeartbeatRequest)
    await ended
  }

  #send(request: HeartbeatRequest): void {
    if (this.#tryStart()) this.#worker?.postMessage(request)
  }

  /** Starts the thread unless it runs. Returns false after a failure. */
  #tryStart(): boolean {
    if (this.#failure !== undefined) return false
    try {
      this.#worker ??= this.#open()
      return true
    } catch (error) {
      this.#onFailed(error as Error)
      return false
    }
  }

  #open(): Worker {
    const worker = this.#start(this.#progress)
    worker.unref()
    worker.on('message', (answer: HeartbeatAnswer) => this.#onAnswer(worker, answer))
    worker.on('error', error => this.#onFailed(error))
    worker.on('exit', () => this.#onFailed(new Error('the heartbeat thread ended')))
    return worker
  }

  #onAnswer(worker: Worker, answer: HeartbeatAnswer): void {
    if (answer.kind === 'ready') {
      this.#hasTried = true
      this.#isConnected = answer.isConnected
      if (this.#closed === undefined) worker.unref()
      this.#ready.resolve()
      return
    }
    if (answer.kind === 'failed') {
      this.#onFailed(new Error(answer.message))
      return
    }
    for (const id of answer.renewed) this.#leases.get(id)?.onRenewed()
    for (const id of answer.lost) {
      const lease = this.#leases.get(id)
      this.#leases.delete(id)
      lease?.onLost()
    }
  }

  #onFailed(error: Error): void {
    this.#failure ??= error
    this.#worker = undefined
    this.#leases.clear()
    this.#ready.resolve()
  }
}

/** A time of `process.hrtime`, which all threads share, by this thread's `performance.now()`. Zero is never. */
function localTimeOf(sharedNs: bigint): number {
  if (sharedNs === 0n) return Number.NEGATIVE_INFINITY
  return performance.now() + Number(sharedNs - process.hrtime.bigint()) / 1e6
}
