// The processes of the schedules, as the test holds them.

import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Child } from '../../../../scripts/faults/process.ts'
import { Spares } from '../../../../scripts/faults/spares.ts'
import type { Given } from '../crash/crowd.fixture.ts'
import type { Moment, Opening, Point, StoreSpec, Told } from './told.fixture.ts'

/** How often one is woken that may not sleep yet. */
const WAKE_MS = 20

/** What a process runs; the SQLite store looks for its thread beside itself. */
const FILES = {
  process: join(import.meta.dirname, 'worker.fixture.ts'),
  worker: join(import.meta.dirname, '../../../log/src/sqlite/worker.ts'),
}

/** A process, which may be of one schedule after another. */
class Process {
  readonly child: Child
  /** Who hears what it tells. */
  hear: (told: Told) => void = () => {}
  /** Told when it has ended, and how. */
  lose: (error: unknown) => void = () => {}

  constructor(child: Child) {
    this.child = child
    this.#listen().catch(error => this.lose(error))
  }

  kill9(): Promise<void> {
    return this.child.kill9()
  }

  async #listen(): Promise<never> {
    for (;;) {
      const told = await this.child.event<Told>('told')
      this.hear(told as Told & { event: string })
    }
  }
}

/** Processes that are ready to be used, and used again where nobody killed them: to start one takes longer than most deaths. */
export class Pool {
  readonly #spares: Spares<Process>
  /** How many were killed in their schedules. */
  killed = 0

  constructor(kind: StoreSpec['kind'], size: number) {
    this.#spares = new Spares(FILES, { size, args: [kind], make: child => new Process(child) })
  }

  /** A process that opens a store. */
  async open(opening: Opening, lose: (error: unknown) => void): Promise<Actor> {
    const taken = this.#spares.take()
    const actor = new Actor(taken, opening, this, lose)
    await taken.child.send({ do: 'open', ...opening })
    return actor
  }

  giveBack(process: Process): void {
    this.#spares.giveBack(process)
  }

  stop(): Promise<void> {
    return this.#spares.stop()
  }
}

/** One process in one schedule. */
export class Actor {
  readonly tag: string
  /** What it could not do. */
  readonly complaints: string[] = []
  /** What it has answered, and what was wrong about that. */
  readonly given: Given[] = []
  readonly problems: string[] = []
  readonly #process: Process
  readonly #pool: Pool
  readonly #does: Moment['does']
  readonly #reached = Promise.withResolvers<Point>()
  readonly #awake = Promise.withResolvers<void>()
  readonly #troubled = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<void>()
  #isGone = false

  constructor(process: Process, { tag, moment }: Opening, pool: Pool, lose: (error: unknown) => void) {
    this.#process = process
    this.tag = tag
    this.#does = moment?.does ?? 'go on'
    this.#pool = pool
    this.#closed.promise.catch(() => {})
    process.hear = told => this.#hear(told)
    process.lose = error => {
      this.#closed.reject(error)
      if (this.#isGone) return
      this.#isGone = true
      lose(error)
    }
  }

  /** The moment that it was given, if it comes to it: at which point. */
  get reached(): Promise<Point> {
    return this.#reached.promise
  }

  /** The first time that the store did not answer it. */
  get troubled(): Promise<void> {
    return this.#troubled.promise
  }

  async kill(): Promise<void> {
    if (this.#isGone) return
    this.#isGone = true
    this.#pool.killed++
    await this.#process.kill9()
  }

  /** Lets it answer all that waits. */
  async answer(): Promise<void> {
    if (!this.#isGone) await this.#process.child.send({ do: 'answer' })
  }

  /** Wakes it when it has come to the moment at which it sleeps: it may have told of it, and not sleep yet. */
  async wake(): Promise<void> {
    for (let isAwake = false; !isAwake && !this.#isGone; ) {
      process.kill(this.#process.child.pid, 'SIGCONT')
      isAwake = await Promise.race([this.#awake.promise.then(() => true), pause(WAKE_MS, false)])
    }
  }

  /** Lets it hand over what it drives, and gives the process back. */
  async close(): Promise<void> {
    if (this.#isGone) return
    await this.#process.child.send({ do: 'close' })
    // Its moment may have come just now, or be still to come.
    void this.#reached.promise.then(() => {
      if (this.#does === 'halt') return this.kill()
      return this.#does === 'sleep' ? this.wake() : undefined
    })
    await Promise.race([this.#closed.promise, this.#process.child.exited])
    if (this.#isGone) return
    this.#isGone = true
    this.#process.hear = () => {}
    this.#process.lose = () => {}
    this.#pool.giveBack(this.#process)
  }

  #hear(told: Told): void {
    if (told.kind === 'reached') this.#reached.resolve(told.point)
    else if (told.kind === 'awake') this.#awake.resolve()
    else if (told.kind === 'trouble') this.#troubled.resolve()
    else if (told.kind === 'closed') this.#closed.resolve()
    else if (told.kind === 'given') {
      this.given.push(...told.given)
      this.problems.push(...told.problems)
    } else this.complaints.push(`${this.tag}: ${told.message}: ${told.cause}`)
  }
}
