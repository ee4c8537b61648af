// The stage of a schedule: a store, the processes on it, and an attached reader in this process. Schedules wait for
// store calls or log entries. Time is used only for timeouts.

import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LogStore, ReadEntry } from '@millrace/log'
import { isStopRequested, type View } from '@millrace/protocol'
import { type FaultProxy, proxy } from '../../../../../scripts/faults/proxy.ts'
import type { Random } from '../../../../../scripts/faults/random.ts'
import { createRuntime, type Runtime } from '../../index.ts'
import type { SubmittedAnswer } from '../crash/answering-clients.fixture.ts'
import { recordApprovals, type WriteLine } from '../crash/ledger.fixture.ts'
import { ReaderChecks } from '../crash/reader-checks.fixture.ts'
import { SESSION } from '../crash/tools-program.fixture.ts'
import { WorkflowAnswerer } from '../crash/workflow.answers.fixture.ts'
import { openStoreSpec } from './open-store.fixture.ts'
import { PROGRAMS, type ProgramName } from './played-programs.fixture.ts'
import type { Opening, Point, StoreSpec } from './process-messages.fixture.ts'
import type { ProcessPool, ScheduledProcess } from './process-pool.fixture.ts'

/** Timeout of a wait, in ms. Long, because a loaded machine is slow. */
const GIVE_UP_MS = 150_000
/** Lease duration, in ms: long enough for a busy process, short enough for quick takeovers. */
const LEASE_MS = [300, 450] as const
/** Time after which a session is reported as blocked, in ms. */
export const BLOCKED_AFTER_MS = 150

/** A store that schedules use one after another. */
export class StageStore {
  readonly spec: StoreSpec
  readonly runtime: Runtime
  readonly folder: string
  /** Receives the approvals that are submitted here. */
  note: WriteLine = () => {}
  readonly #store: LogStore
  #gate: FaultProxy | undefined

  private constructor(spec: StoreSpec, store: LogStore, folder: string) {
    this.spec = spec
    this.#store = store
    this.folder = folder
    this.runtime = createRuntime({
      store: recordApprovals(store, line => this.note(line), 'before'),
      engine: false,
      blockedAfterMs: BLOCKED_AFTER_MS,
    })
  }

  /** Opens it. The folder is for files of its processes. */
  static async open(spec: StoreSpec, folder: string): Promise<StageStore> {
    return new StageStore(spec, await openStoreSpec(spec), folder)
  }

  /** A proxy in front of the store's server. */
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

interface PendingCondition {
  holds(): boolean
  resolve(): void
  reject(error: unknown): void
}

export class ProcessStage {
  readonly stageStore: StageStore
  readonly random: Random
  readonly program: ProgramName
  readonly ledger: string
  /** A trace of the actions, for diagnosis. */
  readonly notes: string[] = []
  /** All entries of the attached reader. */
  readonly seen: ReadEntry[] = []
  readonly story: ReaderChecks
  /** Number of interrupts passed to the answering process. */
  answered = 0
  readonly #pool: ProcessPool
  readonly #actors: ScheduledProcess[] = []
  readonly #waiting = new Set<PendingCondition>()
  readonly #leaving = new AbortController()
  /** Runs whose requests were cancelled. */
  readonly #removed = new Set<string>()
  #answers: WorkflowAnswerer | undefined
  #following: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(
    stageStore: StageStore,
    pool: ProcessPool,
    random: Random,
    { name, program }: { name: string; program: ProgramName },
    undisturbed?: View,
  ) {
    this.stageStore = stageStore
    this.program = program
    this.#pool = pool
    this.random = random
    this.ledger = join(stageStore.folder, `${name}.jsonl`)
    this.story = new ReaderChecks(undisturbed && { whole: wholeOf(undisturbed) })
  }

  /** Requests the runs and attaches a reader. */
  async begin(): Promise<void> {
    const { manager } = this.stageStore.runtime
    await manager.deleteStream(SESSION)
    this.stageStore.note = line => appendFileSync(this.ledger, `${JSON.stringify({ ...line, process: 'desk' })}\n`)
    await PROGRAMS[this.program].ask(this.stageStore.runtime)
    this.#following = this.#follow().catch(error => this.#fail(error))
    // Attached before any driver starts, because transient data is not replayed.
    await this.until('the reader is attached', () => this.seen.length > 0)
  }

  /** Starts a driver. */
  async worker(options: Partial<Opening> = {}): Promise<ScheduledProcess> {
    const tag = `p${this.#actors.length + 1}`
    const actor = await this.#pool.open(
      {
        store: this.stageStore.spec,
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

  /** Starts an answering process. */
  front(
    clients: Opening['clients'] = { when: 'asked', errs: true },
    options: Partial<Opening> = {},
  ): Promise<ScheduledProcess> {
    return this.worker({ ...options, clients })
  }

  /** Answers all interrupts of workflows on request, in this process. */
  get answers(): WorkflowAnswerer {
    this.#answers ??= new WorkflowAnswerer({ when: 'told', pickProcess: () => ({ runtime: this.stageStore.runtime }) })
    return this.#answers
  }

  /** The submitted answers and unexpected results, as far as they were reported. */
  get submitted(): readonly SubmittedAnswer[] | undefined {
    if (this.program === 'pond') return undefined
    return [...this.#actors.flatMap(({ submitted }) => submitted), ...(this.#answers?.submitted ?? [])]
  }

  get problems(): readonly string[] {
    return [...this.#actors.flatMap(({ problems }) => problems), ...(this.#answers?.problems ?? [])]
  }

  /** Number of processes with a planned fault. */
  get faults(): number {
    return this.#actors.filter(({ hasMoment }) => hasMoment).length
  }

  /** Number of killed processes. */
  get deaths(): number {
    return this.#actors.filter(({ wasKilled }) => wasKilled).length
  }

  /** Approximate number of points and of appends. */
  get usual() {
    return PROGRAMS[this.program].usual
  }

  get runs(): readonly string[] {
    return PROGRAMS[this.program].runs
  }

  /** Whether all runs have ended or were cancelled. */
  get isOver(): boolean {
    return this.runs.every(runId => this.story.ended.has(runId) || this.#removed.has(runId))
  }

  /** The open run, as seen by the reader. */
  get open(): string | undefined {
    return this.runs.find(runId => this.#hasBegun(runId) && !this.story.ended.has(runId))
  }

  /** Waits until all runs are over. */
  over(): Promise<void> {
    return this.until('all runs have ended', () => this.isOver)
  }

  /** Waits for the point of a process. Returns false if all runs were over before. */
  async reached(
    ...actors: readonly ScheduledProcess[]
  ): Promise<{ actor: ScheduledProcess; point: Point } | undefined> {
    const moments = actors.map(async actor => ({ actor, point: await actor.reached }))
    return Promise.race([...moments, this.over().then(() => undefined)])
  }

  /** Waits until a condition holds for the attached reader. */
  until(event: string, holds: () => boolean): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure.error)
    if (holds()) return Promise.resolve()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { holds, resolve, reject }
    this.#waiting.add(waiting)
    const late = setTimeout(() => reject(new Error(`gave up waiting until ${event}`)), GIVE_UP_MS)
    return promise.finally(() => {
      clearTimeout(late)
      this.#waiting.delete(waiting)
    })
  }

  /** Lets waiting conditions be checked again. */
  look(): void {
    for (const waiting of [...this.#waiting]) if (waiting.holds()) waiting.resolve()
  }

  /** Ends the schedule and returns the processes to the pool. */
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

  /** Ends everything in any state. */
  async abandon(): Promise<void> {
    const last = this.seen.at(-1)
    this.notes.push(`${this.seen.length} entries were seen${last ? `, the last a ${last.chunk.type}` : ''}`)
    for (const { state } of this.#actors) this.notes.push(state)
    for (const actor of this.#actors) await actor.kill()
    await this.#letGo()
    for (const { errors } of this.#actors) this.notes.push(...errors)
  }

  async #letGo(): Promise<void> {
    this.#leaving.abort()
    await this.#following
  }

  async #follow(): Promise<void> {
    const { manager } = this.stageStore.runtime
    const { signal } = this.#leaving
    const options = { after: 0, follow: true, whole: true, internal: true, signal }
    for await (const entry of await manager.createResumableReader(SESSION, options)) {
      this.seen.push(entry)
      this.story.onEntry(entry)
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

/** The complete texts of an undisturbed run. */
function wholeOf({ messages }: View): (messageId: string, key: string) => string | undefined {
  const texts = new Map<string, string>()
  for (const { id, parts } of messages) {
    for (const part of parts)
      if ('text' in part && typeof part.text === 'string') texts.set(`${id} ${part.key}`, part.text)
  }
  return (messageId, key) => texts.get(`${messageId} ${key}`)
}
