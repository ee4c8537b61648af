// Runs one thing at a time. Each store call and timer of an actor waits here until it is picked. One seed decides which is picked and
// what happens to it, so a schedule is reproducible on every store.

import { LogError } from '../../store/log-error.ts'
import type { Timers } from '../../store/timers.ts'
import type { Faults } from './faults.fixture.ts'
import type { Random } from './random.fixture.ts'

/** A process of an actor. Calls and timers of a dead process never complete. */
export class Process {
  readonly name: string
  isAlive = true
  /** The step before which it is suspended. */
  frozenUntil = 0

  constructor(name: string) {
    this.name = name
  }
}

interface Call {
  readonly process: Process
  readonly label: string
  readonly run: () => Promise<unknown>
  readonly reply: PromiseWithResolvers<unknown>
  notBefore: number
}

interface ScheduledTimer {
  readonly process: Process
  readonly at: number
  readonly onTimer: () => void
}

/** A request in flight without a caller that waits for it. */
interface LateRequest {
  readonly label: string
  readonly run: () => Promise<unknown>
  readonly notBefore: number
}

/** Waits until all promise callbacks have run. */
const settle = () => new Promise<void>(done => setImmediate(done))

/** The largest time jump when every process waits, in ms. */
const MAX_WAIT_MS = 1_000

export class Scheduler {
  readonly random: Random
  /** The trace of a failed schedule. */
  readonly trace: string[] = []
  faults: Faults
  /** The clock of all processes, in ms. */
  now = 1_000_000
  steps = 0
  readonly counts: Record<string, number> = {}
  /** Called with a process that died, to start its successor. */
  onDeath: (process: Process) => void = () => {}
  /** Called before each step, after time has passed. */
  onTime: () => void = () => {}
  #calls: Call[] = []
  #timers: ScheduledTimer[] = []
  #late: LateRequest[] = []

  constructor(random: Random, faults: Faults) {
    this.random = random
    this.faults = faults
  }

  note(line: string): void {
    this.trace.push(`${this.steps} @${this.now} ${line}`)
  }

  count(event: string): void {
    this.counts[event] = (this.counts[event] ?? 0) + 1
  }

  /** Queues a call of a process until it is picked. */
  call<T>(process: Process, label: string, run: () => Promise<T>): Promise<T> {
    const reply = Promise.withResolvers<unknown>()
    // A rejection may have no handler left.
    reply.promise.catch(() => {})
    if (process.isAlive) this.#calls.push({ process, label, run, reply, notBefore: this.steps })
    return reply.promise as Promise<T>
  }

  /** Calls back once, unless cancelled or its process died. */
  after(process: Process, ms: number, onTimer: () => void): () => void {
    const timer = { process, at: this.now + Math.max(0, ms), onTimer }
    if (process.isAlive) this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter(other => other !== timer)
    }
  }

  /** The time for a process. */
  timersOf(process: Process): Timers {
    return { now: () => this.now, after: (ms, onTimer) => this.after(process, ms, onTimer) }
  }

  /** Kills a process. A request in flight may still arrive. */
  kill(process: Process, why: string): void {
    this.note(`${process.name} dies ${why}`)
    this.count('deaths')
    process.isAlive = false
    for (const call of this.#calls) {
      if (call.process === process && this.random.chance(0.3)) this.#queueLateRequest(call)
    }
    this.retire(process)
    this.onDeath(process)
  }

  /** Removes a process. */
  retire(process: Process): void {
    process.isAlive = false
    this.#calls = this.#calls.filter(call => call.process !== process)
    this.#timers = this.#timers.filter(timer => timer.process !== process)
  }

  /** Ends all faults: delayed calls continue and requests in flight arrive. */
  async stopFaults(faults: Faults): Promise<void> {
    this.faults = faults
    for (const call of this.#calls) {
      call.notBefore = 0
      call.process.frozenUntil = 0
    }
    for (const late of this.#late.splice(0)) await this.#deliver(late)
  }

  /** One step: a call, a timer, or a late request. Returns false if nothing is left. */
  async step(): Promise<boolean> {
    await settle()
    const { random, faults } = this
    this.steps++
    this.now += random.chance(faults.pause) ? random.below(faults.pauseMs) : random.below(4)
    const ready = this.#ready()
    if (ready === undefined) return false
    this.onTime()
    if (ready.length === 0) return true
    await random.pick(ready)()
    await settle()
    return true
  }

  /** Everything that can happen now. Advances the time if nothing else can happen. Undefined if that does not help. */
  #ready(): (() => Promise<void>)[] | undefined {
    const { steps } = this
    const isAwake = ({ frozenUntil }: Process) => frozenUntil <= steps
    const calls = this.#calls.filter(({ process, notBefore }) => notBefore <= steps && isAwake(process))
    const late = this.#late.filter(({ notBefore }) => notBefore <= steps)
    const timers = this.#timers.filter(({ process }) => isAwake(process))
    if (calls.length === 0 && late.length === 0 && timers.length > 0) {
      const next = timers.reduce((soonest, { at }) => Math.min(soonest, at), Number.POSITIVE_INFINITY)
      this.now = Math.max(this.now, Math.min(next, this.now + MAX_WAIT_MS))
    }
    const due = timers.filter(({ at }) => at <= this.now)
    if (this.#calls.length + this.#late.length + this.#timers.length === 0) return undefined
    return [
      ...calls.map(call => () => this.#serve(call)),
      ...late.map(late => () => this.#deliver(late)),
      ...due.map(timer => () => this.#fire(timer)),
    ]
  }

  async #fire(timer: ScheduledTimer): Promise<void> {
    this.#timers = this.#timers.filter(other => other !== timer)
    timer.onTimer()
  }

  async #deliver(late: LateRequest): Promise<void> {
    this.#late = this.#late.filter(other => other !== late)
    this.note(`late: ${late.label}`)
    await late.run().catch(() => {})
  }

  /** Decides the outcome of a call and applies it. */
  async #serve(call: Call): Promise<void> {
    const { process, label } = call
    const outcome = this.faults.draw(this.random)
    if (outcome !== 'answered') this.count(outcome)
    switch (outcome) {
      case 'stalled':
        call.notBefore = this.steps + this.random.between(5, 80)
        this.note(`${process.name} ${label}: stalls`)
        return
      case 'frozen':
        process.frozenUntil = this.steps + this.random.between(20, 150)
        this.note(`${process.name} freezes`)
        return
      case 'request-lost':
        return this.#fail(call, 'request lost')
      case 'delivered-late':
        this.#queueLateRequest(call)
        return this.#fail(call, 'timed out, still in flight')
      case 'connection-cut':
        for (const other of this.#calls.filter(other => other.process === process)) {
          if (this.random.chance(0.5)) this.#queueLateRequest(other)
          this.#fail(other, 'connection cut')
        }
        return
      case 'death-before':
        return this.kill(process, `before ${label}`)
      case 'reply-lost':
        await call.run().catch(() => {})
        return this.#fail(call, 'reply lost')
      case 'death-after':
        await call.run().catch(() => {})
        this.#remove(call)
        return this.kill(process, `after ${label}`)
      case 'delivered-twice':
        this.#queueLateRequest(call)
        return this.#answer(call)
      case 'answered':
        return this.#answer(call)
    }
  }

  async #answer(call: Call): Promise<void> {
    const { process, label, run, reply } = call
    this.#remove(call)
    this.note(`${process.name} ${label}`)
    try {
      reply.resolve(await run())
    } catch (error) {
      this.note(`${process.name} ${label}: ${error}`)
      reply.reject(error)
    }
  }

  #fail(call: Call, why: string): void {
    this.note(`${call.process.name} ${call.label}: ${why}`)
    this.#remove(call)
    call.reply.reject(new LogError('unavailable', `no answer: ${why}`))
  }

  #queueLateRequest({ label, run }: Call): void {
    this.#late.push({ label, run, notBefore: this.steps + this.random.between(1, 60) })
  }

  #remove(call: Call): void {
    this.#calls = this.#calls.filter(other => other !== call)
  }
}
