// A worker thread for checks with untrusted schemas: a check that takes too long, or too much memory, stops no other work.

import type { Worker } from 'node:worker_threads'
import { startWorker } from '@millrace/log/internal'
import { CheckLimitError, RunError } from '../error/error.ts'
import type { CheckOutcome, SchemaCheck } from './perform-check.ts'
import { MAX_WALL_TIMEOUTS } from './wall-timeouts.ts'
import { WORKER_SOURCE } from './worker-source.ts'

/** Maximum memory of the worker, in MiB. Above it the worker is replaced. */
export const WORKER_MEMORY_MIB = 256
/** Maximum number of checks that wait, of all callers. */
export const MAX_WAITING_CHECKS = 1000

/** Additional wall time before a worker that does not answer is terminated, in ms. */
const TERMINATION_GRACE_MS = 500
/** Delay before a retry that callers get if too many checks wait, in ms. */
const QUEUE_RETRY_MS = 1000

/** A check as the worker gets it. */
export interface WorkerTask {
  /** A `SchemaCheck` as JSON. */
  readonly checkJson: string
  /** Maximum CPU time, in ms. */
  readonly timeoutMs: number
}

/** The worker reports that it has started a task, then its outcome. */
export type WorkerAnswer =
  | { readonly kind: 'started' }
  | { readonly kind: 'done'; readonly outcome: CheckOutcome; readonly cpuMs: number }

/** A check for the worker. */
export interface WorkerCheck {
  /** Callers take turns. */
  readonly caller: string
  readonly check: SchemaCheck
  /** Maximum CPU time, in ms. */
  readonly timeoutMs: number
  /** Maximum number of waiting checks of this caller. */
  readonly maxWaiting: number
  /** Called before the worker gets the check. An error that it throws rejects the check. */
  readonly beforeStart: () => void
  /** Called after the check with its CPU time, in ms. */
  readonly afterEnd: (cpuMs: number) => void
}

/** A check in the queue. */
interface QueuedTask extends WorkerCheck {
  readonly resolve: (outcome: CheckOutcome) => void
  readonly reject: (error: Error) => void
  /** Whether a worker ended during the task, which is then tried once more. */
  isRetried: boolean
}

/** A task in the worker. */
interface StartedTask {
  readonly task: QueuedTask
  /** When the worker reported the start, by `performance.now()`. */
  startedAt: number | undefined
  deadline: NodeJS.Timeout | undefined
}

/** This platform has no worker threads. */
export class NoWorkerThreadsError extends Error {}

/** Options of a schema worker, for tests. */
export interface SchemaWorkerOptions {
  /** @default WORKER_MEMORY_MIB */
  readonly memoryMib?: number
  /** @default starts the thread of `worker.ts` */
  readonly start?: (memoryMib: number) => Worker
}

/**
 * One worker thread, started on first use and replaced when it ends. It keeps the process alive only during a check.
 * Callers take turns, so that the checks of one caller do not delay those of the others.
 */
export class SchemaWorker {
  readonly #memoryMib: number
  readonly #start: (memoryMib: number) => Worker
  /** Waiting tasks by caller. The first caller is the next one. */
  readonly #queues = new Map<string, QueuedTask[]>()
  #waiting = 0
  #worker: Worker | undefined
  #started: StartedTask | undefined
  /** Workers that end. Only `close` waits for them. */
  readonly #endings = new Set<Promise<unknown>>()
  /** Whether any thread has started a check. */
  #hasStarted = false
  #isUnavailable = false
  #isClosed = false

  constructor({ memoryMib = WORKER_MEMORY_MIB, start = startSchemaWorker }: SchemaWorkerOptions = {}) {
    this.#memoryMib = memoryMib
    this.#start = start
  }

  /** Whether this platform has worker threads, as far as known. */
  get isAvailable(): boolean {
    return !this.#isUnavailable
  }

  /**
   * Performs a check, after the earlier ones of this caller.
   * @throws {CheckLimitError} if too many checks wait.
   * @throws {NoWorkerThreadsError} if this platform has no worker threads.
   * @throws {RunError} `runtime_closed` if the worker is closed.
   */
  run(check: WorkerCheck): Promise<CheckOutcome> {
    const { caller, maxWaiting } = check
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw closedError()
      if (this.#isUnavailable) throw new NoWorkerThreadsError()
      const queue = this.#queues.get(caller) ?? []
      if (queue.length >= maxWaiting || this.#waiting >= MAX_WAITING_CHECKS) throw tooManyError(queue.length)
      queue.push({ ...check, resolve, reject, isRetried: false })
      this.#queues.set(caller, queue)
      this.#waiting++
      if (this.#started === undefined) this.#startNext()
    })
  }

  /** Rejects all checks and ends the thread. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#rejectAll(closedError())
    if (this.#worker) this.#end(this.#worker)
    await Promise.all(this.#endings)
  }

  /** Gives the worker the next task. */
  #startNext(): void {
    for (let task = this.#takeNext(); task !== undefined; task = this.#takeNext()) {
      try {
        task.beforeStart()
      } catch (error) {
        task.reject(error as Error)
        continue
      }
      this.#give(task)
      return
    }
    this.#worker?.unref()
  }

  #takeNext(): QueuedTask | undefined {
    for (const [caller, queue] of this.#queues) {
      const task = queue.shift()
      // The caller goes behind the others.
      this.#queues.delete(caller)
      if (queue.length > 0) this.#queues.set(caller, queue)
      if (task !== undefined) this.#waiting--
      return task
    }
    return undefined
  }

  #give(task: QueuedTask): void {
    this.#started = { task, startedAt: undefined, deadline: undefined }
    const checkJson = jsonOf(task.check)
    if (checkJson === undefined) {
      this.#settle({ failure: 'it is nested too deep' }, 0)
      return
    }
    let worker: Worker
    try {
      worker = this.#worker ?? this.#open()
    } catch {
      this.#onLost(false)
      return
    }
    worker.ref()
    worker.postMessage({ checkJson, timeoutMs: task.timeoutMs } satisfies WorkerTask)
  }

  #open(): Worker {
    const worker = this.#start(this.#memoryMib)
    this.#worker = worker
    let error: NodeJS.ErrnoException | undefined
    worker.on('message', (answer: WorkerAnswer) => {
      if (this.#worker === worker) this.#onAnswer(worker, answer)
    })
    worker.on('error', (reason: NodeJS.ErrnoException) => {
      error = reason
    })
    worker.on('exit', () => {
      if (this.#worker === worker) this.#onLost(error?.code === 'ERR_WORKER_OUT_OF_MEMORY')
    })
    return worker
  }

  #onAnswer(worker: Worker, answer: WorkerAnswer): void {
    if (answer.kind === 'done') {
      this.#settle(answer.outcome, answer.cpuMs)
      return
    }
    this.#hasStarted = true
    const { task } = this.#started as StartedTask
    const started: StartedTask = { task, startedAt: performance.now(), deadline: undefined }
    this.#started = started
    // The worker aborts a check by itself. This is for one that it cannot abort.
    const maxWallMs = task.timeoutMs * MAX_WALL_TIMEOUTS + TERMINATION_GRACE_MS
    started.deadline = setTimeout(() => {
      // The answer may have arrived while this thread was busy: it is handled first.
      setImmediate(() => {
        if (this.#started !== started) return
        this.#end(worker)
        this.#settle({ failure: `it cannot be checked within ${task.timeoutMs} ms` }, maxWallMs)
      })
    }, maxWallMs)
  }

  /** A worker ended by itself, or could not start. A check during which two workers end has failed. */
  #onLost(isOutOfMemory: boolean): void {
    this.#worker = undefined
    if (this.#started === undefined) return
    const { startedAt } = this.#started
    const { isRetried } = this.#started.task
    if (isOutOfMemory || (isRetried && this.#hasStarted)) {
      const failure = isOutOfMemory
        ? `it cannot be checked with ${this.#memoryMib} MiB of memory`
        : 'it cannot be checked: its check ended the worker thread'
      this.#settle({ failure }, performance.now() - (startedAt ?? performance.now()))
      return
    }
    if (isRetried) {
      this.#giveUp()
      return
    }
    const task = this.#finish()
    task.isRetried = true
    this.#give(task)
  }

  /** Ends the task in the worker, and starts the next one. */
  #settle(outcome: CheckOutcome, cpuMs: number): void {
    const { afterEnd, resolve } = this.#finish()
    afterEnd(cpuMs)
    resolve(outcome)
    this.#startNext()
  }

  /** Rejects all tasks, because there are no worker threads. */
  #giveUp(): void {
    this.#isUnavailable = true
    this.#rejectAll(new NoWorkerThreadsError())
  }

  /** Removes the task from the worker. */
  #finish(): QueuedTask {
    const { task, deadline } = this.#started as StartedTask
    clearTimeout(deadline)
    this.#started = undefined
    return task
  }

  #rejectAll(error: Error): void {
    const tasks = [...(this.#started ? [this.#finish()] : []), ...[...this.#queues.values()].flat()]
    this.#queues.clear()
    this.#waiting = 0
    for (const { reject } of tasks) reject(error)
  }

  #end(worker: Worker): void {
    this.#worker = undefined
    const ending = worker.terminate().finally(() => this.#endings.delete(ending))
    this.#endings.add(ending)
  }
}

/** Starts a thread that performs checks. */
export function startSchemaWorker(memoryMib: number): Worker {
  return startWorker(
    { url: import.meta.url, source: WORKER_SOURCE },
    {
      name: 'millrace-schema',
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: memoryMib },
    },
  )
}

const closedError = (): RunError => new RunError('runtime_closed', 'the check of a schema was aborted: it was closed')

/** A check as JSON; undefined if it is nested too deep. */
function jsonOf(check: SchemaCheck): string | undefined {
  try {
    return JSON.stringify(check)
  } catch {
    return undefined
  }
}

const tooManyError = (waiting: number): CheckLimitError =>
  new CheckLimitError(`checks of answers: too many wait, ${waiting} of this caller: retry later`, QUEUE_RETRY_MS)
