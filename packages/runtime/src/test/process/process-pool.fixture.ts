// The processes of the schedules, as controlled by the test.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ChildPool } from '../../../../../scripts/faults/child-pool.ts'
import type { Child } from '../../../../../scripts/faults/process.ts'
import type { SubmittedAnswer } from '../crash/answering-clients.fixture.ts'
import {
  type FaultPoint,
  type Opening,
  type Point,
  type ProcessMessage,
  type StoreSpec,
  wakeFileOf,
} from './process-messages.fixture.ts'

/** Maximum number of kept log messages, the last ones. */
const MAX_LOG_MESSAGES = 30

/** The program of a process. */
const FILES = { process: join(import.meta.dirname, 'driver-process.fixture.ts') }

/** A process, which may be used by several schedules in turn. */
class PooledProcess {
  readonly child: Child
  /** Receives its messages. */
  onMessage: (message: ProcessMessage) => void = () => {}
  /** Called with its exit. */
  onExit: (error: unknown) => void = () => {}

  constructor(child: Child) {
    this.child = child
    this.#listen().catch(error => this.onExit(error))
  }

  kill9(): Promise<void> {
    return this.child.kill9()
  }

  async #listen(): Promise<never> {
    for (;;) {
      const message = await this.child.event<ProcessMessage>('process-message')
      this.onMessage(message as ProcessMessage & { event: string })
    }
  }
}

/** Ready processes. They are reused unless killed, because starting one is slow. */
export class ProcessPool {
  readonly #children: ChildPool<PooledProcess>
  /** Number of processes killed in schedules. */
  killed = 0

  constructor(kind: StoreSpec['kind'], size: number) {
    this.#children = new ChildPool(FILES, { size, args: [kind], wrap: child => new PooledProcess(child) })
  }

  /** A process that opens a store. */
  async open(opening: Opening, onExit: (error: unknown) => void): Promise<ScheduledProcess> {
    const taken = this.#children.take()
    const scheduledProcess = new ScheduledProcess(taken, opening, this, onExit)
    await taken.child.send({ do: 'open', ...opening })
    return scheduledProcess
  }

  giveBack(process: PooledProcess): void {
    this.#children.giveBack(process)
  }

  stop(): Promise<void> {
    return this.#children.stop()
  }
}

/** The action of a process at its point. */
const STATE_AT_POINT: Readonly<Record<FaultPoint['action'], string>> = {
  halt: 'stands still at',
  sleep: 'fell asleep at',
  continue: 'has passed',
}

/** One process in one schedule. */
export class ScheduledProcess {
  readonly tag: string
  /** Its errors and warnings, for diagnosis. */
  readonly errors: string[] = []
  /** Its answers, and unexpected results. */
  readonly submitted: SubmittedAnswer[] = []
  readonly problems: string[] = []
  readonly #process: PooledProcess
  readonly #pool: ProcessPool
  readonly #action: FaultPoint['action']
  readonly #wakeFile: string
  readonly #reached = Promise.withResolvers<Point>()
  readonly #awake = Promise.withResolvers<void>()
  readonly #storeUnavailable = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<void>()
  readonly hasMoment: boolean
  wasKilled = false
  #isGone = false
  /** Its last known state. */
  #state = 'has not come to a faultPoint'

  constructor(process: PooledProcess, opening: Opening, pool: ProcessPool, onExit: (error: unknown) => void) {
    const { tag, faultPoint } = opening
    this.#process = process
    this.tag = tag
    this.hasMoment = faultPoint !== undefined
    this.#action = faultPoint?.action ?? 'continue'
    this.#wakeFile = wakeFileOf(opening)
    this.#pool = pool
    this.#closed.promise.catch(() => {})
    process.onMessage = message => this.#onMessage(message)
    process.onExit = error => {
      this.#closed.reject(error)
      if (this.#isGone) return
      this.#isGone = true
      this.#state += ', ended by itself'
      onExit(error)
    }
  }

  /** Its name and state, for diagnosis. */
  get state(): string {
    return `${this.tag} (process ${this.#process.child.pid}) ${this.#state}`
  }

  /** Resolves when it reaches its point. */
  get reached(): Promise<Point> {
    return this.#reached.promise
  }

  /** Resolves when the store first failed to answer it. */
  get storeUnavailable(): Promise<void> {
    return this.#storeUnavailable.promise
  }

  async kill(): Promise<void> {
    if (this.#isGone) return
    this.#isGone = true
    this.#state += ', was killed'
    this.wasKilled = true
    this.#pool.killed++
    await this.#process.kill9()
  }

  /** Makes it answer all pendings. */
  async answer(): Promise<void> {
    if (!this.#isGone) await this.#process.child.send({ do: 'answer' })
  }

  /** Wakes it after it has reported its sleep. */
  async wake(): Promise<void> {
    if (this.#isGone) return
    writeFileSync(this.#wakeFile, '')
    await Promise.race([this.#awake.promise, this.#process.child.exited])
  }

  /** Makes it hand over, and returns the process to the pool. */
  async close(): Promise<void> {
    if (this.#isGone) return
    await this.#process.child.send({ do: 'close' })
    // It may just have reached its point, or still reach it.
    void this.#reached.promise.then(() => {
      if (this.#action === 'halt') return this.kill()
      return this.#action === 'sleep' ? this.wake() : undefined
    })
    await Promise.race([this.#closed.promise, this.#process.child.exited])
    if (this.#isGone) return
    this.#isGone = true
    this.#process.onMessage = () => {}
    this.#process.onExit = () => {}
    this.#pool.giveBack(this.#process)
  }

  #onMessage(message: ProcessMessage): void {
    switch (message.kind) {
      case 'reached':
        this.#state = `${STATE_AT_POINT[this.#action]} ${message.point} ${message.n}`
        this.#reached.resolve(message.point)
        break
      case 'awake':
        this.#state += ', was woken'
        this.#awake.resolve()
        break
      case 'unavailable':
        this.#addError(`the store did not answer its ${message.call}: ${message.reason}`)
        this.#storeUnavailable.resolve()
        break
      case 'closed':
        this.#state += ', has closed'
        this.#closed.resolve()
        break
      case 'submitted':
        this.submitted.push(...message.submitted)
        this.problems.push(...message.problems)
        break
      case 'logged':
        this.#addError(`${message.level}: ${message.message}: ${message.cause}`)
    }
  }

  #addError(problem: string): void {
    if (this.errors.push(`${this.tag}: ${problem}`) > MAX_LOG_MESSAGES) this.errors.shift()
  }
}
