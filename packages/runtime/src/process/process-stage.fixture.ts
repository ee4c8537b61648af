// Where a schedule plays: a store, the processes on it, and somebody in this process who is attached all the time. Moments are counted in what happens to the store,
// or seen in the log; time only says when to give up.

import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LogStore } from '@millrace/log'
import type { ReadEntry } from '@millrace/log/internal'
import { isStopRequested, type View } from '@millrace/protocol'
import { type FaultProxy, proxy } from '../../../../scripts/faults/proxy.ts'
import type { Random } from '../../../../scripts/faults/random.ts'
import type { Given } from '../crash/crowd.fixture.ts'
import { type Note, witnessed } from '../crash/ledger.fixture.ts'
import { SESSION } from '../crash/pond-program.fixture.ts'
import { ReaderChecks } from '../crash/reader-checks.fixture.ts'
import { Answers } from '../crash/workflow.answers.fixture.ts'
import { createRuntime, type Runtime } from '../index.ts'
import { openSpec } from './open-store.fixture.ts'
import { PROGRAMS, type ProgramName } from './played-programs.fixture.ts'
import type { Actor, Pool } from './pool.fixture.ts'
import type { Opening, Point, StoreSpec } from './process-messages.fixture.ts'

/** When to give up waiting. Long, since a loaded machine takes its time. */
const GIVE_UP_MS = 150_000
/** Long enough for a process that is busy; short enough that its death is soon over. */
const LEASE_MS = [300, 450] as const
/** When somebody who looks at a session is told that nobody drives it. */
export const BLOCKED_AFTER_MS = 150

/** A store where one schedule plays after another. */
export class Place {
  readonly spec: StoreSpec
  readonly runtime: Runtime
  readonly folder: string
  /** Told of what people agree to here. */
  note: Note = () => {}
  readonly #store: LogStore
  #gate: FaultProxy | undefined

  private constructor(spec: StoreSpec, store: LogStore, folder: string) {
    this.spec = spec
    this.#store = store
    this.folder = folder
    this.runtime = createRuntime({
      store: witnessed(store, line => this.note(line), 'before'),
      engine: false,
      blockedAfterMs: BLOCKED_AFTER_MS,
    })
  }

  /** Opens it; the folder is for what its processes leave behind. */
  static async open(spec: StoreSpec, folder: string): Promise<Place> {
    return new Place(spec, await openSpec(spec), folder)
  }

  /** A proxy before the store's server. */
  async gate(): Promise<FaultProxy> {
    if (this.spec.kind === 'sqlite') throw new Error('there is no server to be cut off from')
    this.#gate ??= await proxy(this.spec.url)
    return this.#gate
  }

  async close(): Promise<void> {
    await this.#gate?.stop()
    await this.runtime.close()
    await this.#store.close()
  }
}

interface Waiting {
  holds(): boolean
  resolve(): void
  reject(error: unknown): void
}

export class ProcessStage {
  readonly place: Place
  readonly random: Random
  readonly program: ProgramName
  readonly ledger: string
  /** What was done, for who looks at a failure. */
  readonly notes: string[] = []
  /** All that the one who is attached was given. */
  readonly seen: ReadEntry[] = []
  readonly story: ReaderChecks
  /** How many questions were passed on to those who answer. */
  answered = 0
  readonly #pool: Pool
  readonly #actors: Actor[] = []
  readonly #waiting = new Set<Waiting>()
  readonly #leaving = new AbortController()
  /** The runs whose requests were taken back. */
  readonly #removed = new Set<string>()
  #answers: Answers | undefined
  #following: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(
    place: Place,
    pool: Pool,
    random: Random,
    { name, program }: { name: string; program: ProgramName },
    undisturbed?: View,
  ) {
    this.place = place
    this.program = program
    this.#pool = pool
    this.random = random
    this.ledger = join(place.folder, `${name}.jsonl`)
    this.story = new ReaderChecks(undisturbed && { whole: wholeOf(undisturbed) })
  }

  /** Asks for the runs, and attaches a reader. */
  async begin(): Promise<void> {
    const { manager } = this.place.runtime
    await manager.deleteStream(SESSION)
    this.place.note = line => appendFileSync(this.ledger, `${JSON.stringify({ ...line, process: 'desk' })}\n`)
    await PROGRAMS[this.program].ask(this.place.runtime)
    this.#following = this.#follow().catch(error => this.#fail(error))
    // Who reads from the start is told no transient data from before it came: it comes before anybody drives.
    await this.until('the reader is attached', () => this.seen.length > 0)
  }

  /** A process that drives, from now on. */
  async worker(options: Partial<Opening> = {}): Promise<Actor> {
    const tag = `p${this.#actors.length + 1}`
    const actor = await this.#pool.open(
      {
        store: this.place.spec,
        tag,
        ledger: this.ledger,
        leaseMs: this.random.between(...LEASE_MS),
        paceMs: 0,
        program: this.program,
        isAble: true,
        ...options,
      },
      error => this.#fail(error),
    )
    this.#actors.push(actor)
    return actor
  }

  /** A process that answers for people and clients, from now on; no driver. */
  front(crowd: Opening['crowd'] = { when: 'asked', errs: true }, options: Partial<Opening> = {}): Promise<Actor> {
    return this.worker({ ...options, crowd })
  }

  /** Those who answer what workflows ask, in this process: all that waits, when they are told to. */
  get answers(): Answers {
    this.#answers ??= new Answers({ when: 'told', voice: () => ({ runtime: this.place.runtime }) })
    return this.#answers
  }

  /** What those who answer said, and what was wrong about it, as far as they lived to tell. */
  get given(): readonly Given[] | undefined {
    if (this.program === 'pond') return undefined
    return [...this.#actors.flatMap(({ given }) => given), ...(this.#answers?.given ?? [])]
  }

  get problems(): readonly string[] {
    return [...this.#actors.flatMap(({ problems }) => problems), ...(this.#answers?.problems ?? [])]
  }

  /** How many processes were given a moment at which something happens to them. */
  get faults(): number {
    return this.#actors.filter(({ hasMoment }) => hasMoment).length
  }

  /** How many processes were killed. */
  get deaths(): number {
    return this.#actors.filter(({ wasKilled }) => wasKilled).length
  }

  /** About how many points, and appends among them, there are. */
  get usual() {
    return PROGRAMS[this.program].usual
  }

  get runs(): readonly string[] {
    return PROGRAMS[this.program].runs
  }

  /** Whether all runs have ended, or were taken back before they began. */
  get isOver(): boolean {
    return this.runs.every(runId => this.story.ended.has(runId) || this.#removed.has(runId))
  }

  /** The run that has begun and not ended, as far as is seen. */
  get open(): string | undefined {
    return this.runs.find(runId => this.#hasBegun(runId) && !this.story.ended.has(runId))
  }

  /** Waits until all are over. */
  over(): Promise<void> {
    return this.until('all runs have ended', () => this.isOver)
  }

  /** Waits for a moment of a process; false if all was over before it came. */
  async reached(...actors: readonly Actor[]): Promise<{ actor: Actor; point: Point } | undefined> {
    const moments = actors.map(async actor => ({ actor, point: await actor.reached }))
    return Promise.race([...moments, this.over().then(() => undefined)])
  }

  /** Waits until it holds, as far as the one who is attached can see. */
  until(what: string, holds: () => boolean): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure.error)
    if (holds()) return Promise.resolve()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { holds, resolve, reject }
    this.#waiting.add(waiting)
    const late = setTimeout(() => reject(new Error(`gave up waiting until ${what}`)), GIVE_UP_MS)
    return promise.finally(() => {
      clearTimeout(late)
      this.#waiting.delete(waiting)
    })
  }

  /** Lets those who wait look again. */
  look(): void {
    for (const waiting of [...this.#waiting]) if (waiting.holds()) waiting.resolve()
  }

  /** Ends everything, and gives the processes back. */
  async leave(): Promise<void> {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => late.reject(new Error('gave up waiting until all processes have closed')),
      GIVE_UP_MS,
    )
    const closed = Promise.all(this.#actors.map(actor => actor.close()))
    await Promise.race([closed, late.promise]).finally(() => clearTimeout(timer))
    await this.#letGo()
  }

  /** Ends everything, whatever state it is in. */
  async abandon(): Promise<void> {
    const last = this.seen.at(-1)
    this.notes.push(`${this.seen.length} entries were seen${last ? `, the last a ${last.chunk.type}` : ''}`)
    for (const { state } of this.#actors) this.notes.push(state)
    for (const actor of this.#actors) await actor.kill()
    await this.#letGo()
    for (const { complaints } of this.#actors) this.notes.push(...complaints)
  }

  async #letGo(): Promise<void> {
    this.#leaving.abort()
    await this.#following
  }

  async #follow(): Promise<void> {
    const { manager } = this.place.runtime
    const { signal } = this.#leaving
    const options = { after: 0, follow: true, whole: true, internal: true, signal }
    for await (const entry of await manager.createResumableReader(SESSION, options)) {
      this.seen.push(entry)
      this.story.take(entry)
      const { chunk } = entry
      if (isStopRequested(chunk) && !this.#hasBegun(chunk.runId)) this.#removed.add(chunk.runId)
      this.look()
    }
  }

  #hasBegun(runId: string): boolean {
    return this.seen.some(({ chunk, origin }) => chunk.type === 'run-started' && origin.runId === runId)
  }

  #fail(error: unknown): void {
    if (this.#leaving.signal.aborted) return
    this.#failure ??= { error }
    for (const waiting of [...this.#waiting]) waiting.reject(error)
  }
}

/** The whole texts of a run that nobody disturbed. */
function wholeOf({ messages }: View): (messageId: string, key: string) => string | undefined {
  const texts = new Map<string, string>()
  for (const { id, parts } of messages) {
    for (const part of parts)
      if ('text' in part && typeof part.text === 'string') texts.set(`${id} ${part.key}`, part.text)
  }
  return (messageId, key) => texts.get(`${messageId} ${key}`)
}
