// One schedule: runs a program with processes that crash, freeze and lose replies as planned, until all runs have
// ended, and checks the result.

import { type LogStore, Memory, memoryStore, StreamManager } from '@millrace/log'
import type { Entry } from '@millrace/protocol'
import { Random } from '../../../../../scripts/faults/random.ts'
import { createRuntime, type Runtime } from '../../api/runtime.ts'
import { type Answerer, AnsweringClients, type SubmittingProcess } from './answering-clients.fixture.ts'
import { APPROVALS_PROGRAM } from './approvals-program.fixture.ts'
import type { Fault, Plan } from './fault-plan.fixture.ts'
import { Ledger, recordAppends, recordApprovals, type WriteLine } from './ledger.fixture.ts'
import { type FaultHandler, Machine, Process } from './machine.fixture.ts'
import { ReaderChecks, textOf } from './reader-checks.fixture.ts'
import { type RunRecord, verdict } from './run-verdict.fixture.ts'
import { type Program, SESSION, TOOLS_PROGRAM } from './tools-program.fixture.ts'

const LEASE_MS = 1000
const POLL_MS = 300
const MAX_STEPS = 20_000

export interface Report {
  readonly violations: readonly string[]
  readonly record: RunRecord
  readonly points: number
  readonly steps: number
  readonly trace: readonly string[]
}

export interface ScheduleOptions {
  /** The record without faults, if known. */
  readonly undisturbed?: RunRecord
  readonly isTraced?: boolean
  /** Maximum number of steps. @default very many */
  readonly maxSteps?: number
  /** The program. @default by the plan, with or without pendings */
  readonly program?: Program
  /** Plants a bug to test the checks. */
  readonly mutant?: {
    readonly writeLine?: (writeLine: WriteLine, process: string) => WriteLine
    readonly store?: (store: LogStore) => LogStore
  }
}

/** Plays a plan to its end. */
export async function playSchedule(plan: Plan, options: ScheduleOptions = {}): Promise<Report> {
  return new Schedule(plan, options).run()
}

/** A process that submits requests and answers. */
interface RequestProcess {
  readonly process: Process
  readonly runtime: Runtime
  readonly exited: PromiseWithResolvers<void>
}

const SILENT = { warn() {}, error() {} }

class Schedule implements FaultHandler {
  readonly #plan: Plan
  readonly #options: ScheduleOptions
  readonly #random: Random
  readonly #machine: Machine
  readonly #memory: Memory
  readonly #ledger = new Ledger()
  readonly #readerChecks: ReaderChecks
  readonly #violations: string[] = []
  readonly #faults: (readonly [point: number, fault: Fault])[]
  readonly #runtimes = new Map<Process, Runtime>()
  readonly #withdrawn = new Set<string>()
  readonly #requester: Runtime
  readonly #program: Program
  readonly #clients: Answerer | undefined
  /** The process that submits answers, if it is not the requester. */
  #answeringProcess: RequestProcess | undefined
  #processCount = 0

  constructor(plan: Plan, options: ScheduleOptions) {
    this.#plan = plan
    this.#options = options
    this.#random = new Random(plan.seed)
    this.#faults = [...plan.faults]
    this.#machine = new Machine(this, LEASE_MS, plan.isShuffled ? this.#random : undefined, options.isTraced)
    this.#memory = new Memory({ clock: () => this.#machine.now })
    this.#readerChecks = new ReaderChecks(options.undisturbed && { completeText: completeTexts(options.undisturbed) })
    // Requests and reads come from a process without faults.
    this.#program = options.program ?? (plan.clients ? APPROVALS_PROGRAM : TOOLS_PROGRAM)
    this.#requester = this.#clientRuntime(new Process('requester'), this.#store())
    const clientOptions = {
      pickProcess: () => this.#pickProcess(),
      sleep: (ms: number) => this.#sleep(ms),
      claimMs: LEASE_MS / 10,
    }
    const { clients = options => new AnsweringClients(options) } = this.#program
    this.#clients = plan.clients && clients({ ...plan.clients, ...clientOptions })
  }

  /** The store, with recorded approvals. */
  #store(): LogStore {
    return recordApprovals(memoryStore(undefined, this.#memory), this.#ledger.of('the log'), 'after')
  }

  /** A runtime that has the programs but drives nothing. */
  #clientRuntime(process: Process, store: LogStore): Runtime {
    const timers = this.#machine.timersOf(process)
    const unrecorded = { writeLine: () => {}, timers }
    return createRuntime({
      store: this.#options.mutant?.store?.(store) ?? store,
      agents: this.#program.agents(unrecorded),
      workflows: this.#program.workflows?.(unrecorded) ?? [],
      engine: false,
      timers,
      logger: SILENT,
    })
  }

  #pickProcess(): SubmittingProcess {
    if (this.#plan.clients?.via !== 'faulty') return { runtime: this.#requester }
    this.#answeringProcess ??= this.#startAnsweringProcess()
    const { runtime, exited } = this.#answeringProcess
    return { runtime, exited: exited.promise }
  }

  #startAnsweringProcess(): RequestProcess {
    const process = new Process(`f${++this.#processCount}`)
    const runtime = this.#clientRuntime(process, this.#machine.storeOf(process, this.#store()))
    return { process, runtime, exited: Promise.withResolvers() }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise(done => this.#machine.after(ms, done))
  }

  async run(): Promise<Report> {
    const machine = this.#machine
    const reader = new AbortController()
    await this.#program.ask(this.#requester)
    const readerDone = this.#read(reader.signal)
    this.#spawn()
    const isOver = await machine.until(() => this.#isOver(), this.#options.maxSteps ?? MAX_STEPS)
    if (!isOver) this.#violations.push(`the runs do not end: ${JSON.stringify([...this.#readerChecks.ended])}`)
    // Frozen processes continue and calls in flight arrive: they must have no effect.
    const { head } = this.#readerChecks
    const endsAt = machine.now + 4 * LEASE_MS
    await machine.until(() => machine.now > endsAt, this.#options.maxSteps ?? MAX_STEPS)
    if (this.#readerChecks.head !== head && isOver)
      this.#violations.push(`the log has entries after ${head}, the end of all runs`)
    reader.abort()
    await readerDone
    for (const process of this.#runtimes.keys()) machine.retire(process)
    const record = await this.#readRecord()
    if (record.entries.length !== this.#readerChecks.count) this.#violations.push('the reader missed entries')
    this.#violations.push(...(this.#clients?.problems ?? []))
    const { judge = verdict } = this.#program
    const violations = [...this.#violations, ...judge(record, { ...this.#options, isExact: true })]
    return { violations, record, points: machine.points, steps: machine.steps, trace: machine.trace ?? [] }
  }

  faultAt(point: number): Fault | undefined {
    if ((this.#faults[0]?.[0] ?? Infinity) > point) return undefined
    return this.#faults.shift()?.[1]
  }

  onFault(fault: Fault, process: Process): void {
    if (fault === 'rival') this.#spawn()
    else if (fault === 'leave') this.#leave(process)
    else if (fault === 'stop') void this.#stop()
    else if (fault === 'answer') this.#clients?.answer()
    // A fault of a store call applies to the next one.
    else this.#faults.unshift([0, fault])
  }

  onGone(process: Process): void {
    if (process === this.#answeringProcess?.process) {
      if (process.isAlive) return
      const { exited } = this.#answeringProcess
      this.#answeringProcess = undefined
      exited.resolve()
      return
    }
    if (!process.isAlive) this.#runtimes.delete(process)
    this.#respawn()
    if (this.#plan.clients?.when === 'on-fault') this.#clients?.answer()
  }

  /** Starts a successor, soon or after the lease has expired. */
  #respawn(): void {
    this.#machine.after(this.#plan.isShuffled ? this.#random.below(2 * LEASE_MS) : 1, () => this.#spawn())
  }

  #spawn(): void {
    const process = new Process(`p${++this.#processCount}`)
    const machine = this.#machine
    const { mutant } = this.#options
    const addLine = this.#ledger.of(process.name)
    const recordLine: WriteLine = line => {
      if (!process.isAlive) return
      addLine(line)
      if ('phase' in line) machine.point(process, `${line.kind} ${line.key} ${line.phase}s`)
      else machine.addTrace(process, JSON.stringify(line))
    }
    const writeLine = mutant?.writeLine?.(recordLine, process.name) ?? recordLine
    const timers = machine.timersOf(process)
    const store = machine.storeOf(process, this.#store())
    const options = { writeLine, timers, paceMs: this.#plan.paceMs }
    const runtime = createRuntime({
      store: recordAppends(mutant?.store?.(store) ?? store, writeLine),
      agents: this.#program.agents(options),
      workflows: this.#program.workflows?.(options) ?? [],
      engine: { pollMs: POLL_MS },
      log: { leaseMs: LEASE_MS, retryTimeoutMs: 2 * LEASE_MS, owner: process.name },
      backoff: { firstMs: 50 },
      maxTakeovers: 100,
      timers,
      logger: machine.trace
        ? {
            warn: (message, fields) => machine.addTrace(process, `${message} ${JSON.stringify(fields)}`),
            error: (message, { cause }) => machine.addTrace(process, `${message}: ${(cause as Error)?.stack ?? cause}`),
          }
        : SILENT,
    })
    this.#runtimes.set(process, runtime)
  }

  #leave(process: Process): void {
    const runtime = this.#runtimes.get(process)
    if (runtime === undefined) return
    this.#runtimes.delete(process)
    this.#respawn()
    runtime.close().then(() => this.#machine.retire(process))
  }

  async #stop(): Promise<void> {
    const open = this.#program.runs.find(runId => !this.#readerChecks.ended.has(runId))
    if (open === undefined) return
    const isWaiting = !this.#readerChecks.started.has(open)
    const isAccepted = await this.#requester.stop(SESSION, open)
    if (isWaiting && isAccepted) this.#withdrawn.add(open)
    this.#machine.addTrace(undefined, `stop of ${open}: ${isAccepted}`)
  }

  #isOver(): boolean {
    const isStarted = (runId: string) => this.#readerChecks.started.has(runId)
    const isEnded = (runId: string) =>
      this.#readerChecks.ended.has(runId) || (this.#withdrawn.has(runId) && !isStarted(runId))
    return this.#violations.length > 0 || (this.#program.runs.every(isEnded) && this.#clients?.isIdle !== false)
  }

  /** Reads all entries from first to last. */
  async #read(signal: AbortSignal): Promise<void> {
    const reading = { after: 0, follow: true, includeDiscarded: true, internal: true, signal }
    try {
      const reader = await this.#requester.manager.createResumableReader(SESSION, reading)
      for await (const entry of reader) {
        this.#readerChecks.onEntry(entry)
        this.#clients?.onEntry(entry)
      }
    } catch (error) {
      if (!signal.aborted) this.#violations.push(String(error))
    }
  }

  async #readRecord(): Promise<RunRecord> {
    const manager = new StreamManager({ store: memoryStore(undefined, this.#memory) })
    const { view } = await manager.view(SESSION)
    const entries: readonly Entry[] = await manager.entries(SESSION, 0, view.head)
    return { entries, view, lines: this.#ledger.lines, ...(this.#clients && { submitted: this.#clients.submitted }) }
  }
}

/** The complete text of each part, without crashes. */
function completeTexts({ view }: RunRecord): (messageId: string, key: string) => string | undefined {
  const texts = new Map<string, string | undefined>()
  for (const { id, parts } of view.messages) {
    for (const part of parts) texts.set(`${id} ${part.key}`, textOf(part))
  }
  return (messageId, key) => texts.get(`${messageId} ${key}`)
}
