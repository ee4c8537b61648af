// One race: a waiting program, guests that answer, claim and stop at the same time, deadlines, and successive drivers.
// It runs until nothing is left to happen, and then checks the result.

import { type LogStore, Memory, memoryStore, StreamManager, type Ticket } from '@millrace/log'
import { mustStop } from '@millrace/log/internal'
import type { Entry } from '@millrace/protocol'
import { Random } from '../../../../../scripts/faults/random.ts'
import { createRuntime, type Runtime } from '../../api/runtime.ts'
import type { Fault } from '../crash/fault-plan.fixture.ts'
import { type FaultHandler, Machine, Process } from '../crash/machine.fixture.ts'
import { ReaderChecks } from '../crash/reader-checks.fixture.ts'
import { performAction, startDelayMs } from './guest-actions.fixture.ts'
import type { GuestAction, Plan } from './race-plan.fixture.ts'
import { type ActionResult, type RaceRecord, type ToolOperation, verdict } from './race-verdict.fixture.ts'
import { agentsOf, RUN, SESSION, waitingCallsOf } from './waiting-program.fixture.ts'

const LEASE_MS = 1000
const POLL_MS = 300
const MAX_STEPS = 4000
const SILENT = { warn() {}, error() {} }

export interface Report {
  readonly violations: readonly string[]
  readonly record: RaceRecord
  readonly trace: readonly string[]
}

export interface RaceOptions {
  readonly isTraced?: boolean
  /** Breaks the store of a process, to test the checks. */
  readonly breakStore?: (store: LogStore) => LogStore
}

/** Plays a plan to its end. */
export const race = (plan: Plan, options: RaceOptions = {}): Promise<Report> => new Race(plan, options).run()

class Race implements FaultHandler {
  readonly #plan: Plan
  readonly #breakStore: (store: LogStore) => LogStore
  readonly #random: Random
  readonly #machine: Machine
  readonly #memory: Memory
  readonly #readerChecks = new ReaderChecks()
  readonly #violations: string[] = []
  readonly #faults: (readonly [point: number, fault: Fault])[]
  readonly #drivers = new Map<Process, Runtime>()
  readonly #guests = new Map<Process, () => void>()
  readonly #requester: Runtime
  /** Actions that have not started. */
  readonly #notStarted: Set<GuestAction>
  readonly #results: ActionResult[] = []
  readonly #operations: ToolOperation[] = []
  #inFlight = 0
  #processCount = 0
  #cachedTicket: { readonly version: string; readonly ticket: Ticket } | undefined

  constructor(plan: Plan, { isTraced, breakStore = store => store }: RaceOptions) {
    this.#plan = plan
    this.#breakStore = breakStore
    this.#random = new Random(plan.seed)
    this.#faults = [...plan.faults]
    this.#notStarted = new Set(plan.actions)
    this.#machine = new Machine(this, LEASE_MS, this.#random, isTraced)
    this.#memory = new Memory({ clock: () => this.#machine.now })
    // Requests and reads come from a process without faults.
    const timers = this.#machine.timersOf(new Process('requester'))
    this.#requester = createRuntime({ store: this.#store, engine: false, timers, logger: SILENT })
  }

  async run(): Promise<Report> {
    const machine = this.#machine
    const reader = new AbortController()
    await this.#requester.start({
      session: SESSION,
      agent: 'agent:root@1',
      runId: RUN,
      messageId: 'asks',
      input: 'Pay.',
    })
    const readerDone = this.#read(reader.signal)
    this.#spawn()
    await this.#untilQuiet()
    for (const action of this.#notStarted) this.#scheduleAction(action)
    await this.#untilQuiet()
    // The remaining pendings are answered, and the run continues.
    for (let rounds = 0; rounds < 4 && this.#ticket.run !== null && this.#hasNoViolation; rounds++) {
      await this.#answerAll()
      await this.#untilQuiet()
    }
    // Frozen processes continue and calls in flight arrive: only requests may have an effect.
    const endsAt = machine.now + 3 * LEASE_MS
    await machine.until(() => machine.now > endsAt, MAX_STEPS)
    await this.#untilQuiet()
    if (this.#ticket.run !== null) this.#violations.push(`run ${this.#ticket.run.runId} does not end`)
    reader.abort()
    await readerDone
    for (const process of this.#drivers.keys()) machine.retire(process)
    const record = await this.#readRecord()
    return { violations: [...this.#violations, ...verdict(record)], record, trace: machine.trace ?? [] }
  }

  faultAt(point: number): Fault | undefined {
    if ((this.#faults[0]?.[0] ?? Infinity) > point) return undefined
    return this.#faults.shift()?.[1]
  }

  onFault(fault: Fault, process: Process): void {
    if (fault === 'rival') this.#spawn()
    else if (fault === 'leave') this.#leave(process)
    // A fault of a store call applies to the next one.
    else this.#faults.unshift([0, fault])
  }

  onGone(process: Process): void {
    if (this.#drivers.has(process)) this.#respawn()
    if (process.isAlive) return
    this.#drivers.delete(process)
    this.#guests.get(process)?.()
  }

  get #store(): LogStore {
    return memoryStore(undefined, this.#memory)
  }

  get #hasNoViolation(): boolean {
    return this.#violations.length === 0
  }

  get #log() {
    const log = this.#memory.logs.get(SESSION)
    if (log === undefined) throw new Error('there is no log')
    return log
  }

  get #ticket(): Ticket {
    const { version, ticket } = this.#log
    if (this.#cachedTicket?.version !== version)
      this.#cachedTicket = { version, ticket: JSON.parse(ticket.state) as Ticket }
    return this.#cachedTicket.ticket
  }

  /** Runs until nothing happens on its own: all runs have ended, or the pendings have no deadline. */
  async #untilQuiet(): Promise<void> {
    const isQuiet = () => {
      if (!this.#hasNoViolation) return true
      if (this.#inFlight > 0 || (this.#log.lease?.until ?? 0) > this.#machine.now) return false
      const { run, ready, pendings, requests } = this.#ticket
      if (run === null) return requests.length === 0
      const isOpen = pendings.length > 0 && pendings.every(({ deadline }) => deadline === undefined)
      return run.paused && !ready && !mustStop(this.#ticket) && isOpen
    }
    if (await this.#machine.until(isQuiet, MAX_STEPS)) return
    const { lease } = this.#log
    this.#violations.push(`it hangs: ${this.#inFlight} in flight, ${JSON.stringify({ ...this.#ticket, lease })}`)
  }

  #spawn(): void {
    const process = new Process(`p${++this.#processCount}`)
    const machine = this.#machine
    const { kind, timeoutMs, paceMs } = this.#plan
    const timers = machine.timersOf(process)
    const recordOperation = (toolCallId: string, phase: 'start' | 'end') => {
      if (!process.isAlive) return
      const { head } = this.#log
      this.#operations.push({ process: process.name, toolCallId, phase, minHead: head, maxHead: head })
      machine.point(process, `${toolCallId} ${phase}s`)
    }
    const runtime = createRuntime({
      store: machine.storeOf(process, this.#breakStore(this.#store)),
      agents: agentsOf({ kind, timeoutMs, paceMs, timers, recordOperation }),
      engine: { pollMs: POLL_MS },
      log: { leaseMs: LEASE_MS, retryTimeoutMs: 2 * LEASE_MS, owner: process.name },
      maxTakeovers: 100,
      timers,
      logger: machine.trace
        ? {
            warn: (message, fields) => machine.addTrace(process, `${message} ${JSON.stringify(fields)}`),
            error: (message, { cause }) => machine.addTrace(process, `${message}: ${(cause as Error)?.stack ?? cause}`),
          }
        : SILENT,
    })
    this.#drivers.set(process, runtime)
  }

  #respawn(): void {
    this.#machine.after(this.#random.below(2 * LEASE_MS), () => this.#spawn())
  }

  #leave(process: Process): void {
    const runtime = this.#drivers.get(process)
    if (runtime === undefined) return
    this.#drivers.delete(process)
    this.#respawn()
    runtime.close().then(() => this.#machine.retire(process))
  }

  /** Reads all entries from first to last. */
  async #read(signal: AbortSignal): Promise<void> {
    const reading = { after: 0, follow: true, includeDiscarded: true, internal: true, signal }
    try {
      const reader = await this.#requester.manager.createResumableReader(SESSION, reading)
      for await (const entry of reader) {
        this.#readerChecks.onEntry(entry)
        this.#startGuestsAfter(entry)
      }
    } catch (error) {
      if (!signal.aborted) this.#violations.push(String(error))
    }
  }

  /** Starts the guests that wait for this entry, with their delays. */
  #startGuestsAfter({ chunk }: Entry): void {
    for (const action of this.#notStarted) {
      const ms = startDelayMs(action, this.#callOf(action), chunk, this.#machine.now)
      if (ms !== undefined) this.#scheduleAction(action, ms)
    }
  }

  #callOf({ call }: GuestAction): string {
    return waitingCallsOf(this.#plan.kind)[call] as string
  }

  #scheduleAction(action: GuestAction, afterMs = 0): void {
    this.#notStarted.delete(action)
    this.#inFlight++
    this.#machine.after(afterMs, () => this.#perform(action))
  }

  #perform(action: GuestAction): void {
    const guest = `g${this.#plan.actions.indexOf(action)}`
    const process = new Process(guest)
    const machine = this.#machine
    const log = { retryTimeoutMs: 2 * LEASE_MS }
    const store = machine.storeOf(process, this.#breakStore(this.#store))
    const runtime = createRuntime({ store, engine: false, timers: machine.timersOf(process), log, logger: SILENT })
    const { head } = this.#log
    const end = (outcome: ActionResult['outcome'], sequence?: number): void => {
      if (!this.#guests.delete(process)) return
      this.#inFlight--
      machine.addTrace(process, `${action.verb}: ${outcome ?? 'died'} ${sequence ?? ''}`)
      const until = { head: this.#log.head, at: machine.now }
      this.#results.push({ guest, action, toolCallId: this.#callOf(action), outcome, sequence, head, until })
    }
    this.#guests.set(process, () => end(undefined))
    machine.addTrace(process, `starts: ${JSON.stringify(action)}`)
    performAction(runtime, action, guest, this.#callOf(action)).then(({ outcome, sequence }) => end(outcome, sequence))
  }

  /** Answers the remaining pendings. */
  async #answerAll(): Promise<void> {
    for (const { kind, id } of this.#ticket.pendings) {
      if (kind === 'approval') await this.#requester.answer(SESSION, { kind, id, approved: true })
      else await this.#requester.answer(SESSION, { kind: 'tool-result', id, output: 'late' })
    }
  }

  async #readRecord(): Promise<RaceRecord> {
    const manager = new StreamManager({ store: this.#store })
    const { view, ticket } = await manager.view(SESSION)
    const entries = await manager.entries(SESSION, 0, view.head)
    return { plan: this.#plan, entries, view, ticket, results: this.#results, operations: this.#operations }
  }
}
