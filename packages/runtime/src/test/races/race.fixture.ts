// One race: a waiting program, guests that answer, claim and stop at the same time, deadlines, and successive drivers.
// It runs until nothing is left to happen, and then checks the result.

import { type LogStore, Memory, memoryStore, StreamManager, type Ticket } from '@millrace/log'
import { mustStop } from '@millrace/log/internal'
import type { Entry } from '@millrace/protocol'
import { Random } from '../../../../../scripts/faults/random.ts'
import { createRuntime, type Runtime } from '../../api/runtime.ts'
import type { Fault } from '../crash/fault-plan.fixture.ts'
import { type Events, Machine, Process } from '../crash/machine.fixture.ts'
import { ReaderChecks } from '../crash/reader-checks.fixture.ts'
import { performAction, startDelayMs } from './guest-actions.fixture.ts'
import type { GuestAction, Plan } from './race-plan.fixture.ts'
import { type ActionResult, type RaceRecord, type ToolOperation, verdict } from './race-verdict.fixture.ts'
import { agentsOf, RUN, SESSION, waitingOf } from './waiting-program.fixture.ts'

const LEASE_MS = 1000
const POLL_MS = 300
const MAX_STEPS = 4000
const SILENT = { warn() {}, error() {} }

export interface Report {
  readonly violations: readonly string[]
  readonly happened: RaceRecord
  readonly trace: readonly string[]
}

export interface RaceOptions {
  readonly isTraced?: boolean
  /** Breaks the store of a process, to test the checks. */
  readonly broken?: (store: LogStore) => LogStore
}

/** Plays a plan to its end. */
export const race = (plan: Plan, options: RaceOptions = {}): Promise<Report> => new Race(plan, options).run()

class Race implements Events {
  readonly #plan: Plan
  readonly #broken: (store: LogStore) => LogStore
  readonly #random: Random
  readonly #machine: Machine
  readonly #memory: Memory
  readonly #story = new ReaderChecks()
  readonly #violations: string[] = []
  readonly #faults: (readonly [point: number, fault: Fault])[]
  readonly #drivers = new Map<Process, Runtime>()
  readonly #guests = new Map<Process, () => void>()
  readonly #desk: Runtime
  /** Actions that have not started. */
  readonly #ahead: Set<GuestAction>
  readonly #results: ActionResult[] = []
  readonly #notes: ToolOperation[] = []
  #underWay = 0
  #count = 0
  #seen: { readonly version: string; readonly ticket: Ticket } | undefined

  constructor(plan: Plan, { isTraced, broken = store => store }: RaceOptions) {
    this.#plan = plan
    this.#broken = broken
    this.#random = new Random(plan.seed)
    this.#faults = [...plan.faults]
    this.#ahead = new Set(plan.doings)
    this.#machine = new Machine(this, LEASE_MS, this.#random, isTraced)
    this.#memory = new Memory({ clock: () => this.#machine.now })
    // Requests and reads come from a process without faults.
    const timers = this.#machine.timersOf(new Process('desk'))
    this.#desk = createRuntime({ store: this.#store, engine: false, timers, logger: SILENT })
  }

  async run(): Promise<Report> {
    const machine = this.#machine
    const reading = new AbortController()
    await this.#desk.start({ session: SESSION, agent: 'agent:root@1', runId: RUN, messageId: 'asks', input: 'Pay.' })
    const isRead = this.#read(reading.signal)
    this.#spawn()
    await this.#quiet()
    for (const doing of this.#ahead) this.#fire(doing)
    await this.#quiet()
    // The remaining pendings are answered, and the run continues.
    for (let rounds = 0; rounds < 4 && this.#ticket.run !== null && this.#isWell; rounds++) {
      await this.#answerAll()
      await this.#quiet()
    }
    // Frozen processes continue and calls in flight arrive: only requests may have an effect.
    const end = machine.now + 3 * LEASE_MS
    await machine.until(() => machine.now > end, MAX_STEPS)
    await this.#quiet()
    if (this.#ticket.run !== null) this.#violations.push(`run ${this.#ticket.run.runId} does not end`)
    reading.abort()
    await isRead
    for (const process of this.#drivers.keys()) machine.retire(process)
    const happened = await this.#happened()
    return { violations: [...this.#violations, ...verdict(happened)], happened, trace: machine.trace ?? [] }
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

  get #isWell(): boolean {
    return this.#violations.length === 0
  }

  get #log() {
    const log = this.#memory.logs.get(SESSION)
    if (log === undefined) throw new Error('there is no log')
    return log
  }

  get #ticket(): Ticket {
    const { version, ticket } = this.#log
    if (this.#seen?.version !== version) this.#seen = { version, ticket: JSON.parse(ticket.state) as Ticket }
    return this.#seen.ticket
  }

  /** Runs until nothing happens on its own: all runs have ended, or the pendings have no deadline. */
  async #quiet(): Promise<void> {
    const isQuiet = () => {
      if (!this.#isWell) return true
      if (this.#underWay > 0 || (this.#log.lease?.until ?? 0) > this.#machine.now) return false
      const { run, ready, pendings, requests } = this.#ticket
      if (run === null) return requests.length === 0
      const isOpen = pendings.length > 0 && pendings.every(({ deadline }) => deadline === undefined)
      return run.paused && !ready && !mustStop(this.#ticket) && isOpen
    }
    if (await this.#machine.until(isQuiet, MAX_STEPS)) return
    const { lease } = this.#log
    this.#violations.push(`it hangs: ${this.#underWay} under way, ${JSON.stringify({ ...this.#ticket, lease })}`)
  }

  #spawn(): void {
    const process = new Process(`p${++this.#count}`)
    const machine = this.#machine
    const { kind, timeoutMs, paceMs } = this.#plan
    const timers = machine.timersOf(process)
    const note = (toolCallId: string, phase: 'start' | 'end') => {
      if (!process.isAlive) return
      const { head } = this.#log
      this.#notes.push({ process: process.name, toolCallId, phase, least: head, maxStarts: head })
      machine.point(process, `${toolCallId} ${phase}s`)
    }
    const runtime = createRuntime({
      store: machine.storeOf(process, this.#broken(this.#store)),
      agents: agentsOf({ kind, timeoutMs, paceMs, timers, note }),
      engine: { pollMs: POLL_MS },
      log: { leaseMs: LEASE_MS, retryTimeoutMs: 2 * LEASE_MS, owner: process.name },
      maxTakeovers: 100,
      timers,
      logger: machine.trace
        ? {
            warn: (message, fields) => machine.note(process, `${message} ${JSON.stringify(fields)}`),
            error: (message, { cause }) => machine.note(process, `${message}: ${(cause as Error)?.stack ?? cause}`),
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
    const reading = { after: 0, follow: true, whole: true, internal: true, signal }
    try {
      const reader = await this.#desk.manager.createResumableReader(SESSION, reading)
      for await (const entry of reader) {
        this.#story.onEntry(entry)
        this.#cue(entry)
      }
    } catch (error) {
      if (!signal.aborted) this.#violations.push(String(error))
    }
  }

  /** Starts the guests that wait for this entry, with their delays. */
  #cue({ chunk }: Entry): void {
    for (const doing of this.#ahead) {
      const ms = startDelayMs(doing, this.#callOf(doing), chunk, this.#machine.now)
      if (ms !== undefined) this.#fire(doing, ms)
    }
  }

  #callOf({ call }: GuestAction): string {
    return waitingOf(this.#plan.kind)[call] as string
  }

  #fire(doing: GuestAction, afterMs = 0): void {
    this.#ahead.delete(doing)
    this.#underWay++
    this.#machine.after(afterMs, () => this.#do(doing))
  }

  #do(doing: GuestAction): void {
    const guest = `g${this.#plan.doings.indexOf(doing)}`
    const process = new Process(guest)
    const machine = this.#machine
    const log = { retryTimeoutMs: 2 * LEASE_MS }
    const store = machine.storeOf(process, this.#broken(this.#store))
    const runtime = createRuntime({ store, engine: false, timers: machine.timersOf(process), log, logger: SILENT })
    const { head } = this.#log
    const end = (outcome: ActionResult['outcome'], sequence?: number): void => {
      if (!this.#guests.delete(process)) return
      this.#underWay--
      machine.note(process, `${doing.act}: ${outcome ?? 'died'} ${sequence ?? ''}`)
      const now = { head: this.#log.head, at: machine.now }
      this.#results.push({ guest, doing, toolCallId: this.#callOf(doing), outcome, sequence, head, until: now })
    }
    this.#guests.set(process, () => end(undefined))
    machine.note(process, `begins: ${JSON.stringify(doing)}`)
    performAction(runtime, doing, guest, this.#callOf(doing)).then(({ outcome, sequence }) => end(outcome, sequence))
  }

  /** Answers the remaining pendings. */
  async #answerAll(): Promise<void> {
    for (const { kind, id } of this.#ticket.pendings) {
      if (kind === 'approval') await this.#desk.answer(SESSION, { kind, id, approved: true })
      else await this.#desk.answer(SESSION, { kind: 'tool-result', id, output: 'late' })
    }
  }

  async #happened(): Promise<RaceRecord> {
    const manager = new StreamManager({ store: this.#store })
    const { view, ticket } = await manager.view(SESSION)
    const entries = await manager.entries(SESSION, 0, view.head)
    return { plan: this.#plan, entries, view, ticket, results: this.#results, notes: this.#notes }
  }
}
