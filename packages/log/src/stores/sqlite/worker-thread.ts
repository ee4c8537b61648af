import type { Worker } from 'node:worker_threads'
import { LogError } from '../../store/log-error.ts'
import { startWorker } from '../../store/start-worker.ts'
import { type PackedFailure, unpackFailure } from './failure.ts'
import type { FileOptions } from './log-file.ts'
import type { OperationCall, OperationName, OperationResult } from './operations.ts'
import { WORKER_SOURCE } from './worker-source.ts'

export interface CallRequest {
  readonly kind: 'call'
  readonly id: number
  readonly call: OperationCall
  /** Size of the value that it writes, in bytes. */
  readonly bytes: number
}

/**
 * How much of the write-ahead log a checkpoint moves to the file. `passive`: what no reader or writer prevents. `full`:
 * everything, while writers wait. `truncate`: everything, and the write-ahead log is emptied.
 */
export type CheckpointMode = 'passive' | 'full' | 'truncate'

export interface CheckpointRequest {
  readonly kind: 'checkpoint'
  readonly id: number
  readonly mode: CheckpointMode
}

export type WorkerRequest = CallRequest | CheckpointRequest | { readonly kind: 'close' }

export type WorkerAnswer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failure: PackedFailure }

interface PendingCall {
  resolve(result: unknown): void
  reject(error: Error): void
}

/** The worker of one store, started on first use. It keeps the process alive only while a call waits for it. */
export class WorkerThread {
  readonly #options: FileOptions
  readonly #pending = new Map<number, PendingCall>()
  #worker: Worker | undefined
  #lastId = 0
  #isClosing = false

  constructor(options: FileOptions) {
    this.#options = options
  }

  /** Runs a call in the worker, after those before it. */
  call<N extends OperationName>(call: OperationCall<N>, bytes: number): Promise<OperationResult<N>> {
    return this.#request<OperationResult<N>>(id => ({ kind: 'call', id, call, bytes }))
  }

  /** Runs a checkpoint of the write-ahead log. Returns false if a reader prevented a part of it. */
  checkpoint(mode: CheckpointMode): Promise<boolean> {
    return this.#request<boolean>(id => ({ kind: 'checkpoint', id, mode }))
  }

  /** Ends the worker after all its calls. */
  async close(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    this.#isClosing = true
    worker.ref()
    const ended = new Promise(resolve => worker.once('exit', resolve))
    worker.postMessage({ kind: 'close' } satisfies WorkerRequest)
    await ended
  }

  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const code = { url: import.meta.url, source: WORKER_SOURCE }
    const worker = startWorker(code, { workerData: this.#options, name: 'millrace-sqlite' })
    worker.unref()
    worker.on('message', (answers: WorkerAnswer[]) => this.#settle(answers))
    worker.on('error', error => this.#onLost(worker, error))
    worker.on('exit', () => this.#onLost(worker, new Error('the worker thread ended')))
    this.#worker = worker
    return worker
  }

  #request<T>(request: (id: number) => WorkerRequest): Promise<T> {
    return new Promise((resolve, reject) => {
      const worker = this.#start()
      const id = ++this.#lastId
      worker.postMessage(request(id))
      if (this.#pending.size === 0) worker.ref()
      this.#pending.set(id, { resolve: resolve as (result: unknown) => void, reject })
    })
  }

  #settle(answers: readonly WorkerAnswer[]): void {
    for (const answer of answers) {
      const waiting = this.#pending.get(answer.id)
      this.#pending.delete(answer.id)
      if ('failure' in answer) waiting?.reject(unpackFailure(answer.failure))
      else waiting?.resolve(answer.result)
    }
    if (this.#pending.size === 0 && !this.#isClosing) this.#worker?.unref()
  }

  /** Calls in a lost worker may have happened or not. The next call starts a new worker. */
  #onLost(worker: Worker, cause: Error): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    const error = new LogError('unavailable', `the worker thread of the store has exited: retry the call`, { cause })
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }
}
