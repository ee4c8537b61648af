// One schedule: sessions, the people in them, those who follow, and what happens to all of them, at moments that a seed says.

import { setTimeout as pause } from 'node:timers/promises'
import { proxy } from '../../../../scripts/faults/proxy.ts'
import type { Random } from '../../../../scripts/faults/random.ts'
import { type Manner, mannerOf, RunReader, SessionReader } from './follower.fixture.ts'
import type { House } from './house.fixture.ts'
import { Line, type Reader } from './line.fixture.ts'
import { Sight } from './sight.fixture.ts'

/** What a schedule may take at most, on a machine that has others to do. */
const GIVE_UP_MS = 60_000

/** When a schedule is given up. */
export interface Patience {
  readonly giveUpMs?: number
  /** Aborted where nobody wants to know any more. */
  readonly signal?: AbortSignal
}

/** Somebody who follows all sessions of a schedule. */
export interface Follower {
  readonly name: string
  readonly manner: Manner
  readonly sights: readonly Sight[]
  readonly readers: readonly SessionReader[]
}

interface Waiting {
  readonly holds: () => boolean
  readonly resolve: () => void
}

export class Scene {
  readonly house: House
  readonly random: Random
  readonly sessionIds: readonly string[]
  /** What was done, for who looks at a failure. */
  readonly notes: string[] = []
  readonly followers: Follower[] = []
  readonly runReaders: RunReader[] = []
  readonly #lines: Line[] = []
  readonly #waiting = new Set<Waiting>()
  readonly #over = new AbortController()
  readonly #late: NodeJS.Timeout

  constructor(house: House, random: Random, sessionIds: readonly string[], patience: Patience = {}) {
    const { giveUpMs = GIVE_UP_MS, signal } = patience
    this.house = house
    this.random = random
    this.sessionIds = sessionIds
    this.#late = setTimeout(() => this.#over.abort(), giveUpMs)
    signal?.addEventListener('abort', () => this.#over.abort())
  }

  /** Is aborted when the schedule is over, has failed, or takes too long. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  get drops(): number {
    return this.#lines.reduce((sum, { drops }) => sum + drops, 0)
  }

  /** The one who is there from the start. */
  get first(): Follower {
    return this.followers[0] as Follower
  }

  /** Lets somebody follow all sessions, by connections of its own. */
  async join(): Promise<Follower> {
    const { random, signal } = this
    signal.throwIfAborted()
    const name = `follower ${this.followers.length + 1}`
    const manner = mannerOf(random)
    const sights = this.sessionIds.map(sessionId => new Sight(sessionId, () => this.look()))
    const groups = manner.isMultiplexed ? [sights] : sights.map(sight => [sight])
    const readers = groups.map(group => new SessionReader(group, manner))
    const follower = { name, manner, sights, readers }
    this.followers.push(follower)
    this.notes.push(`${name} joins when ${this.count} entries are seen: ${JSON.stringify(manner)}`)
    for (const reader of readers) await this.#dial(reader)
    return follower
  }

  /** Starts a run by a connection that follows it. */
  async startAndFollow(
    sessionId: string,
    runId: string,
    format: 'sse' | 'ndjson',
    body: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const reader = new RunReader(sessionId, runId, format, body)
    this.runReaders.push(reader)
    await this.#dial(reader)
  }

  /** How many entries the first follower has seen, of all sessions. */
  get count(): number {
    return this.followers[0]?.sights.reduce((sum, { count }) => sum + count, 0) ?? 0
  }

  /** A connection that is open or will be. */
  anyLine(): Line {
    return this.random.pick(this.#lines)
  }

  /** Waits until it holds, as far as those who follow can see. */
  async until(what: string, holds: () => boolean): Promise<void> {
    if (holds()) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { holds, resolve }
    const { signal } = this
    const late = () => reject(new Error(`gave up waiting until ${what}`))
    this.#waiting.add(waiting)
    signal.addEventListener('abort', late, { once: true })
    if (signal.aborted) late()
    await promise.finally(() => {
      signal.removeEventListener('abort', late)
      this.#waiting.delete(waiting)
    })
  }

  /** Lets those who wait look again; where something was wrong already, they need not wait any more. */
  look(): void {
    if (this.#hasProblems) this.#over.abort()
    for (const waiting of [...this.#waiting]) if (waiting.holds()) waiting.resolve()
  }

  /** From now on nothing happens to anybody any more. */
  calm(): void {
    for (const line of this.#lines) line.calm()
  }

  /** Waits until those who follow runs have what they wanted. */
  async runsFollowed(): Promise<void> {
    await this.until('the runs are followed to their ends', () => this.runReaders.every(({ isOver }) => isOver))
  }

  async leave(): Promise<void> {
    clearTimeout(this.#late)
    this.#over.abort()
    await Promise.all(this.#lines.map(line => line.leave()))
  }

  get #hasProblems(): boolean {
    const all = [...this.runReaders, ...this.followers.flatMap(({ sights, readers }) => [...sights, ...readers])]
    return all.some(({ problems }) => problems.length > 0)
  }

  async #dial(reader: Reader): Promise<void> {
    const gate = await proxy({ host: '127.0.0.1', port: this.house.port })
    if (this.signal.aborted) {
      // Those who were there have left: this one would be left behind, and dial for ever.
      await gate.stop()
      this.signal.throwIfAborted()
    }
    const line = new Line(gate, reader, this.random, () => this.look())
    this.#lines.push(line)
    void line.over.then(() => this.look())
  }

  /** Lets a while pass that nothing else tells of. */
  async soon(most: number): Promise<void> {
    await pause(this.random.below(most * 10) / 10, undefined, { signal: this.signal }).catch(() => {})
  }
}
