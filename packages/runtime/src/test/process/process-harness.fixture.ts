// The harness of a schedule: a store, the processes on it, and an attached reader in this process. Schedules wait for
// store calls or log entries. Time is used only for timeouts.

import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LogStore, ReadEntry } from '@millrace/log'
import { isStopRequested, type View } from '@millrace/protocol'
import { type FaultProxy, proxy as startProxy } from '../../../../../scripts/faults/proxy.ts'
import type { Random } from '../../../../../scripts/faults/random.ts'
import { createRuntime, type Runtime } from '../../index.ts'
import type { SubmittedAnswer } from '../crash/answering-clients.fixture.ts'
import { recordApprovals, type WriteLine } from '../crash/ledger.fixture.ts'
import { ReaderChecks } from '../crash/reader-checks.fixture.ts'
import { SESSION } from '../crash/tools-program.fixture.ts'
import { WorkflowAnswerer } from '../crash/workflow.answers.fixture.ts'
import { openStoreSpec } from './open-store.fixture.ts'
import type { Opening, Point, StoreSpec } from './process-messages.fixture.ts'
import type { ProcessPool, ScheduledProcess } from './process-pool.fixture.ts'
import { PROGRAMS, type ProgramName } from './programs.fixture.ts'

/** Timeout of a wait, in ms. Long, because a loaded machine is slow. */
const WAIT_TIMEOUT_MS = 150_000
/** Lease duration, in ms: long enough for a busy process, short enough for quick takeovers. */
const LEASE_MS = [300, 450] as const
/** Time after which a session is reported as blocked, in ms. */
export const BLOCKED_AFTER_MS = 150

/** A store that schedules use one after another. */
export class HarnessStore {
  readonly spec: StoreSpec
  readonly runtime: Runtime
  readonly folder: string
  /** Receives the approvals that are submitted here. */
  writeLine: WriteLine = () => {}
  readonly #store: LogStore
  #proxy: FaultProxy | undefined

  private constructor(spec: StoreSpec, store: LogStore, folder: string) {
    this.spec = spec
    this.#store = store
    this.folder = folder
    this.runtime = createRuntime({
      store: recordApprovals(store, line => this.writeLine(line), 'before'),
      engine: false,
      blockedAfterMs: BLOCKED_AFTER_MS,
    })
  }

  /** Opens it. The folder is for files of its processes. */
  static async open(spec: StoreSpec, folder: string): Promise<HarnessStore> {
    return new HarnessStore(spec, await openStoreSpec(spec), folder)
  }

  /** A proxy in front of the store's server. */
  async openProxy(): Promise<FaultProxy> {
    if (this.spec.kind === 'sqlite') throw new Error('sqlite has no server to disconnect from')
    this.#proxy ??= await startProxy(this.spec.url)
    return this.#proxy
  }

  async close(): Promise<void> {
    await this.#proxy?.stop()
    await this.runtime.close()
    await this.#store.close()
  }
}

interface WaitingCondition {
  holds(): boolean
  resolve(): void
  reject(error: unknown): void
}

export class ProcessHarness {
  readonly harnessStore: HarnessStore
  readonly random: Random
  readonly program: ProgramName
  readonly ledger: string
  /** A trace of the actions, for diagnosis. */
  readonly trace: string[] = []
  /** All entries of the attached reader. */
  readonly seen: ReadEntry[] = []
  readonly readerChecks: ReaderChecks
  /** Number of interrupts passed to the answering process. */
  answered = 0
  readonly #pool: ProcessPool
  readonly #processes: ScheduledProcess[] = []
  readonly #waiting = new Set<WaitingCondition>()
  readonly #reader = new AbortController()
  /** Runs whose requests were cancelled. */
  readonly #cancelled = new Set<string>()
  #answers: WorkflowAnswerer | undefined
  #readerDone: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(
    harnessStore: HarnessStore,
    pool: ProcessPool,
    random: Random,
    { name, program }: { name: string; program: ProgramName },
    undisturbed?: View,
  ) {
    this.harnessStore = harnessStore
    this.program = program
    this.#pool = pool
    this.random = random
    this.ledger = join(harnessStore.folder, `${name}.jsonl`)
    this.readerChecks = new ReaderChecks(undisturbed && { completeText: completeTexts(undisturbed) })
  }

  /** Requests the runs and attaches a reader. */
  async begin(): Promise<void> {
    const { manager } = this.harnessStore.runtime
    await manager.deleteStream(SESSION)
    this.harnessStore.writeLine = line =>
      appendFileSync(this.ledger, `${JSON.stringify({ ...line, process: 'requester' })}\n`)
    await PROGRAMS[this.program].ask(this.harnessStore.runtime)
    this.#readerDone = this.#follow().catch(error => this.#fail(error))
    // Attached before any driver starts, because transient data is not replayed.
    await this.until('the reader is attached', () => this.seen.length > 0)
  }

  /** Starts a driver. */
  async startDriver(options: Partial<Opening> = {}): Promise<ScheduledProcess> {
    const tag = `p${this.#processes.length + 1}`
    const scheduledProcess = await this.#pool.open(
      {
        store: this.harnessStore.spec,
        tag,
        ledger: this.ledger,
        leaseMs: this.random.between(...LEASE_MS),
        paceMs: 0,
        program: this.program,
        hasProgram: true,
        ...options,
      },
      error => this.#fail(error),
    )
    this.#processes.push(scheduledProcess)
    return scheduledProcess
  }

  /** Starts an answering process. */
  startAnswering(
    clients: Opening['clients'] = { when: 'asked', makesMistakes: true },
    options: Partial<Opening> = {},
  ): Promise<ScheduledProcess> {
    return this.startDriver({ ...options, clients })
  }

  /** Answers all interrupts of workflows on request, in this process. */
  get answers(): WorkflowAnswerer {
    this.#answers ??= new WorkflowAnswerer({
      when: 'on-fault',
      pickProcess: () => ({ runtime: this.harnessStore.runtime }),
    })
    return this.#answers
  }

  /** The submitted answers and unexpected results, as far as they were reported. */
  get submitted(): readonly SubmittedAnswer[] | undefined {
    if (this.program === 'tools') return undefined
    return [...this.#processes.flatMap(({ submitted }) => submitted), ...(this.#answers?.submitted ?? [])]
  }

  get problems(): readonly string[] {
    return [...this.#processes.flatMap(({ problems }) => problems), ...(this.#answers?.problems ?? [])]
  }

  /** Number of processes with a planned fault. */
  get faults(): number {
    return this.#processes.filter(({ hasMoment }) => hasMoment).length
  }

  /** Number of killed processes. */
  get deaths(): number {
    return this.#processes.filter(({ wasKilled }) => wasKilled).length
  }

  /** Approximate number of points and of appends. */
  get typical() {
    return PROGRAMS[this.program].typical
  }

  get runs(): readonly string[] {
    return PROGRAMS[this.program].runs
  }

  /** Whether all runs have ended or were cancelled. */
  get isOver(): boolean {
    return this.runs.every(runId => this.readerChecks.ended.has(runId) || this.#cancelled.has(runId))
  }

  /** The open run, as seen by the reader. */
  get open(): string | undefined {
    return this.runs.find(runId => this.#hasStarted(runId) && !this.readerChecks.ended.has(runId))
  }

  /** Waits until all runs are over. */
  untilEnded(): Promise<void> {
    return this.until('all runs have ended', () => this.isOver)
  }

  /** Waits for the point of a process. Returns false if all runs were over before. */
  async reached(
    ...processes: readonly ScheduledProcess[]
  ): Promise<{ scheduledProcess: ScheduledProcess; point: Point } | undefined> {
    const faultPoints = processes.map(async scheduledProcess => ({
      scheduledProcess,
      point: await scheduledProcess.reached,
    }))
    return Promise.race([...faultPoints, this.untilEnded().then(() => undefined)])
  }

  /** Waits until a condition holds for the attached reader. */
  until(event: string, holds: () => boolean): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure.error)
    if (holds()) return Promise.resolve()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { holds, resolve, reject }
    this.#waiting.add(waiting)
    const timeout = setTimeout(() => reject(new Error(`timed out while waiting until ${event}`)), WAIT_TIMEOUT_MS)
    return promise.finally(() => {
      clearTimeout(timeout)
      this.#waiting.delete(waiting)
    })
  }

  /** Lets waiting conditions be checked again. */
  recheck(): void {
    for (const waiting of [...this.#waiting]) if (waiting.holds()) waiting.resolve()
  }

  /** Ends the schedule and returns the processes to the pool. */
  async close(): Promise<void> {
    const timedOut = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => timedOut.reject(new Error('timed out while waiting until all processes have closed')),
      WAIT_TIMEOUT_MS,
    )
    const closed = Promise.all(this.#processes.map(scheduledProcess => scheduledProcess.close()))
    await Promise.race([closed, timedOut.promise]).finally(() => clearTimeout(timer))
    await this.#detachReader()
  }

  /** Ends everything in any state. */
  async abandon(): Promise<void> {
    const last = this.seen.at(-1)
    this.trace.push(`${this.seen.length} entries were read${last ? `, the last a ${last.chunk.type}` : ''}`)
    for (const { state } of this.#processes) this.trace.push(state)
    for (const scheduledProcess of this.#processes) await scheduledProcess.kill()
    await this.#detachReader()
    for (const { errors } of this.#processes) this.trace.push(...errors)
  }

  async #detachReader(): Promise<void> {
    this.#reader.abort()
    await this.#readerDone
  }

  async #follow(): Promise<void> {
    const { manager } = this.harnessStore.runtime
    const { signal } = this.#reader
    const options = { after: 0, follow: true, includeDiscarded: true, internal: true, signal }
    for await (const entry of await manager.createResumableReader(SESSION, options)) {
      this.seen.push(entry)
      this.readerChecks.onEntry(entry)
      const { chunk } = entry
      if (isStopRequested(chunk) && !this.#hasStarted(chunk.runId)) this.#cancelled.add(chunk.runId)
      this.recheck()
    }
  }

  #hasStarted(runId: string): boolean {
    return this.seen.some(({ chunk, origin }) => chunk.type === 'run-started' && origin.runId === runId)
  }

  #fail(error: unknown): void {
    if (this.#reader.signal.aborted) return
    this.#failure ??= { error }
    for (const waiting of [...this.#waiting]) waiting.reject(error)
  }
}

/** The complete texts of an undisturbed run. */
function completeTexts({ messages }: View): (messageId: string, key: string) => string | undefined {
  const texts = new Map<string, string>()
  for (const { id, parts } of messages) {
    for (const part of parts)
      if ('text' in part && typeof part.text === 'string') texts.set(`${id} ${part.key}`, part.text)
  }
  return (messageId, key) => texts.get(`${messageId} ${key}`)
}
