// The processes of the schedules, from the side of the test.

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bundle } from '../../../../../scripts/faults/bundle.ts'
import { type Child, startChildProcess } from '../../../../../scripts/faults/process.ts'
import type { ProcessMessage, ProcessOrder } from './store-process-messages.fixture.ts'
import type { StoreSpec } from './store-spec.fixture.ts'

const run = promisify(execFile)

/** A message with the time at which it arrived. */
export type ReceivedMessage = ProcessMessage & { readonly at: number }

/** The number of reusable processes: as many as most schedules use. */
const SIZE = 5

/** The program of a process. */
const FILES = { process: join(import.meta.dirname, 'store-process.fixture.ts') }

/**
 * Reusable processes, since starting one takes longer than most schedules. Killed ones are replaced between tests. A test
 * that needs more gets a separate process, which ends with it.
 */
export class StoreProcessPool {
  readonly #folder = mkdtempSync(join(tmpdir(), 'millrace-compiled-'))
  readonly #kind: StoreSpec['kind']
  readonly #compileCache = process.env['NODE_COMPILE_CACHE']
  readonly #members = new Set<Child>()
  readonly #free: Child[] = []

  constructor(kind: StoreSpec['kind']) {
    this.#kind = kind
    bundle(this.#folder, FILES)
    process.env['NODE_COMPILE_CACHE'] ??= join(this.#folder, 'cache')
    this.fill()
  }

  /** Replaces killed processes. Call it outside of tests: a process that a test starts has to end with it. */
  fill(): void {
    while (this.#free.length < SIZE) {
      const started = this.#start()
      this.#members.add(started)
      this.#free.push(started)
    }
  }

  take(): Child {
    return this.#free.shift() ?? this.#start()
  }

  async giveBack(used: Child): Promise<void> {
    if (this.#members.has(used)) this.#free.push(used)
    else await used.kill9()
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#members].map(member => member.kill9()))
    if (this.#compileCache === undefined) delete process.env['NODE_COMPILE_CACHE']
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #start(): Child {
    return startChildProcess(join(this.#folder, 'process.js'), [this.#kind])
  }
}

/** One process in one schedule. */
export class StoreProcess {
  readonly tag: string
  /** How often it opened a store. */
  opened = 0
  isKilled = false
  readonly #child: Child
  readonly #onMessage: (actor: StoreProcess, event: ReceivedMessage) => void
  readonly #listening: Promise<void>
  #isEnding = false
  #isDismissed = false
  #syncs = 0
  readonly #synced = new Map<number, () => void>()
  #closed = () => {}

  constructor(
    tag: string,
    child: Child,
    onMessage: (actor: StoreProcess, event: ReceivedMessage) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.tag = tag
    this.#child = child
    this.#onMessage = onMessage
    this.#listening = this.#listen().catch(error => {
      if (!this.#isEnding) onFailure(error)
    })
  }

  get isGone(): boolean {
    return this.#isEnding
  }

  /** Sends an order. A process executes its orders one after another. */
  async order(order: ProcessOrder): Promise<void> {
    if (this.#isEnding) return
    await this.#child.send(order)
  }

  /** Waits until all of its messages have arrived. */
  async sync(): Promise<void> {
    const n = ++this.#syncs
    const synced = new Promise<void>(resolve => this.#synced.set(n, resolve))
    await this.order({ do: 'sync', n })
    await synced
  }

  /** Kills it and processes its last messages. */
  async kill(): Promise<void> {
    this.#isEnding = this.isKilled = true
    await this.#child.kill9()
    await this.#listening
  }

  /** Suspends it. Resolves when it is suspended. */
  async freeze(): Promise<void> {
    const { pid } = this.#child
    process.kill(pid, 'SIGSTOP')
    while (!(await run('ps', ['-o', 'stat=', '-p', `${pid}`])).stdout.startsWith('T')) {}
  }

  /** Continues it after `freeze`. */
  thaw(): void {
    process.kill(this.#child.pid, 'SIGCONT')
  }

  /** Closes everything that it has open. */
  async close(): Promise<void> {
    const closed = new Promise<void>(resolve => {
      this.#closed = resolve
    })
    await this.order({ do: 'close' })
    await closed
  }

  /** Ends its part in the schedule. Returns the process to the pool if it is reusable. */
  async dismiss(): Promise<Child | undefined> {
    if (this.#isEnding) return undefined
    this.#isDismissed = true
    await this.close()
    this.#isEnding = true
    return this.#child
  }

  async #listen(): Promise<void> {
    for (;;) {
      const event = (await this.#child.event<ReceivedMessage>('message')) as ReceivedMessage & { event: string }
      if (event.kind === 'step') this.order({ do: 'grant', n: event.n }).catch(() => {})
      else if (event.kind === 'synced') this.#synced.get(event.n)?.()
      else if (event.kind === 'closed') {
        this.#closed()
        // The process may belong to another schedule from now on.
        if (this.#isDismissed) return
      } else this.#onMessage(this, event)
    }
  }
}
