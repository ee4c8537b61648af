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
import { type Events, Machine, Process } from './machine.fixture.ts'
import { ReaderChecks, textOf } from './reader-checks.fixture.ts'
import { type RunRecord, verdict } from './run-verdict.fixture.ts'
import { type Program, SESSION, TOOLS_PROGRAM } from './tools-program.fixture.ts'

const LEASE_MS = 1000
const POLL_MS = 300
const MAX_STEPS = 20_000

export interface Report {
  readonly violations: readonly string[]
  readonly happened: RunRecord
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
    readonly note?: (note: WriteLine, process: string) => WriteLine
    readonly store?: (store: LogStore) => LogStore
  }
}

/** Plays a plan to its end. */
export async function schedule(plan: Plan, options: ScheduleOptions = {}): Promise<Report> {
  return new Schedule(plan, options).run()
}

/** A process that submits requests and answers. */
interface RequestProcess {
  readonly process: Process
  readonly runtime: Runtime
  readonly exited: PromiseWithResolvers<void>
}

const SILENT = { warn() {}, error() {} }

class Schedule implements Events {
  readonly #plan: Plan
  readonly #options: ScheduleOptions
  readonly #random: Random
  readonly #machine: Machine
  readonly #memory: Memory
  readonly #ledger = new Ledger()
  readonly #story: ReaderChecks
  readonly #violations: string[] = []
  readonly #faults: (readonly [point: number, fault: Fault])[]
  readonly #runtimes = new Map<Process, Runtime>()
  readonly #takenBack = new Set<string>()
  readonly #desk: Runtime
  readonly #program: Program
  readonly #clients: Answerer | undefined
  /** The process that submits answers, if it is not the front desk. */
  #front: RequestProcess | undefined
  #count = 0

  constructor(plan: Plan, options: ScheduleOptions) {
    this.#plan = plan
    this.#options = options
    this.#random = new Random(plan.seed)
    this.#faults = [...plan.faults]
    this.#machine = new Machine(this, LEASE_MS, plan.isShuffled ? this.#random : undefined, options.isTraced)
    this.#memory = new Memory({ clock: () => this.#machine.now })
    this.#story = new ReaderChecks(options.undisturbed && { whole: wholeOf(options.undisturbed) })
    // Requests and reads come from a process without faults.
    this.#program = options.program ?? (plan.clients ? APPROVALS_PROGRAM : TOOLS_PROGRAM)
    this.#desk = this.#speaker(new Process('desk'), this.#store())
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

  /** A process that knows the agents but drives nothing. */
  #speaker(process: Process, store: LogStore): Runtime {
    const timers = this.#machine.timersOf(process)
    const disabledPoints = { note: () => {}, timers }
    return createRuntime({
      store: this.#options.mutant?.store?.(store) ?? store,
      agents: this.#program.agents(disabledPoints),
      workflows: this.#program.workflows?.(disabledPoints) ?? [],
      engine: false,
      timers,
      logger: SILENT,
    })
  }

  #pickProcess(): SubmittingProcess {
    if (this.#plan.clients?.via !== 'front') return { runtime: this.#desk }
    this.#front ??= this.#open()
    const { runtime, exited } = this.#front
    return { runtime, exited: exited.promise }
  }

  #open(): RequestProcess {
    const process = new Process(`f${++this.#count}`)
    const runtime = this.#speaker(process, this.#machine.storeOf(process, this.#store()))
    return { process, runtime, exited: Promise.withResolvers() }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise(done => this.#machine.after(ms, done))
  }

  async run(): Promise<Report> {
    const machine = this.#machine
    const reading = new AbortController()
    await this.#program.ask(this.#desk)
    const isRead = this.#read(reading.signal)
    this.#spawn()
    const isOver = await machine.until(() => this.#isOver(), this.#options.maxSteps ?? MAX_STEPS)
    if (!isOver) this.#violations.push(`it does not come to its end: ${JSON.stringify([...this.#story.ended])}`)
    // Frozen processes continue and calls in flight arrive: they must have no effect.
    const { head } = this.#story
    const end = machine.now + 4 * LEASE_MS
    await machine.until(() => machine.now > end, this.#options.maxSteps ?? MAX_STEPS)
    if (this.#story.head !== head && isOver) this.#violations.push(`the log went on after ${head}`)
    reading.abort()
    await isRead
    for (const process of this.#runtimes.keys()) machine.retire(process)
    const happened = await this.#happened()
    if (happened.entries.length !== this.#story.count) this.#violations.push('the reader missed some of it')
    this.#violations.push(...(this.#clients?.problems ?? []))
    const { judge = verdict } = this.#program
    const violations = [...this.#violations, ...judge(happened, { ...this.#options, isExact: true })]
    return { violations, happened, points: machine.points, steps: machine.steps, trace: machine.trace ?? [] }
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
    if (process === this.#front?.process) {
      if (process.isAlive) return
      const { exited } = this.#front
      this.#front = undefined
      exited.resolve()
      return
    }
    if (!process.isAlive) this.#runtimes.delete(process)
    this.#respawn()
    if (this.#plan.clients?.when === 'told') this.#clients?.answer()
  }

  /** Starts a successor, at once or after the lease. */
  #respawn(): void {
    this.#machine.after(this.#plan.isShuffled ? this.#random.below(2 * LEASE_MS) : 1, () => this.#spawn())
  }

  #spawn(): void {
    const process = new Process(`p${++this.#count}`)
    const machine = this.#machine
    const { mutant } = this.#options
    const writeLine = this.#ledger.of(process.name)
    const write: WriteLine = line => {
      if (!process.isAlive) return
      writeLine(line)
      if ('phase' in line) machine.point(process, `${line.kind} ${line.key} ${line.phase}s`)
      else machine.note(process, JSON.stringify(line))
    }
    const note = mutant?.note?.(write, process.name) ?? write
    const timers = machine.timersOf(process)
    const store = machine.storeOf(process, this.#store())
    const options = { note, timers, paceMs: this.#plan.paceMs }
    const runtime = createRuntime({
      store: recordAppends(mutant?.store?.(store) ?? store, note),
      agents: this.#program.agents(options),
      workflows: this.#program.workflows?.(options) ?? [],
      engine: { pollMs: POLL_MS },
      log: { leaseMs: LEASE_MS, retryTimeoutMs: 2 * LEASE_MS, owner: process.name },
      backoff: { firstMs: 50 },
      maxTakeovers: 100,
      timers,
      logger: machine.trace
        ? {
            warn: (message, fields) => machine.note(process, `${message} ${JSON.stringify(fields)}`),
            error: (message, { cause }) => machine.note(process, `${message}: ${(cause as Error)?.stack ?? cause}`),
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
    const open = this.#program.runs.find(runId => !this.#story.ended.has(runId))
    if (open === undefined) return
    const isWaiting = !this.#story.started.has(open)
    const isTaken = await this.#desk.stop(SESSION, open)
    if (isWaiting && isTaken) this.#takenBack.add(open)
    this.#machine.note(undefined, `stop of ${open}: ${isTaken}`)
  }

  #isOver(): boolean {
    const isStarted = (runId: string) => this.#story.started.has(runId)
    const isEnded = (runId: string) => this.#story.ended.has(runId) || (this.#takenBack.has(runId) && !isStarted(runId))
    return this.#violations.length > 0 || (this.#program.runs.every(isEnded) && this.#clients?.isIdle !== false)
  }

  /** Reads all entries from first to last. */
  async #read(signal: AbortSignal): Promise<void> {
    const reading = { after: 0, follow: true, whole: true, internal: true, signal }
    try {
      const reader = await this.#desk.manager.createResumableReader(SESSION, reading)
      for await (const entry of reader) {
        this.#story.onEntry(entry)
        this.#clients?.onEntry(entry)
      }
    } catch (error) {
      if (!signal.aborted) this.#violations.push(String(error))
    }
  }

  async #happened(): Promise<RunRecord> {
    const manager = new StreamManager({ store: memoryStore(undefined, this.#memory) })
    const { view } = await manager.view(SESSION)
    const entries: readonly Entry[] = await manager.entries(SESSION, 0, view.head)
    return { entries, view, lines: this.#ledger.lines, ...(this.#clients && { submitted: this.#clients.submitted }) }
  }
}

/** The complete text of each part, without crashes. */
function wholeOf({ view }: RunRecord): (messageId: string, key: string) => string | undefined {
  const texts = new Map<string, string | undefined>()
  for (const { id, parts } of view.messages) {
    for (const part of parts) texts.set(`${id} ${part.key}`, textOf(part))
  }
  return (messageId, key) => texts.get(`${messageId} ${key}`)
}
