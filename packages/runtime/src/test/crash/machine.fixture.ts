// Simulated processes that share one store and one virtual time. Every store call and every timer waits until it is
// picked. Calls and timers of a dead process are dropped, those of a frozen one are delayed.

import { LogError, type LogStore, type Timers } from '@millrace/log'
import type { Random } from '../../../../../scripts/faults/random.ts'
import type { Fault } from './fault-plan.fixture.ts'

/** A process. Calls of a dead process have no effect. */
export class Process {
  readonly name: string
  isAlive = true
  frozenUntil = 0
  cutOffUntil = 0
  /** Wake-ups that arrived while it was frozen. */
  readonly missedWakes = new Set<() => void>()

  constructor(name: string) {
    this.name = name
  }
}

interface Call {
  readonly process: Process
  readonly label: string
  readonly run: () => Promise<unknown>
  readonly answer: PromiseWithResolvers<unknown>
}

interface ScheduledTimer {
  /** Undefined for an event of the environment. */
  readonly process: Process | undefined
  readonly at: number
  readonly fire: () => void
}

const eventLoopTurn = () => new Promise<void>(done => setImmediate(done))

/** Handles faults that do not concern a single call. */
export interface FaultHandler {
  /** The fault at this point, if any. */
  faultAt(point: number): Fault | undefined
  /** A fault that does not concern the call: a rival, a hand-over or a stop. */
  onFault(fault: Fault, process: Process): void
  /** A process died or froze, and needs a successor. */
  onGone(process: Process): void
}

export class Machine {
  now = 1_000_000
  /** Number of points so far. */
  points = 0
  steps = 0
  /** The events so far, if they are traced. */
  readonly trace: string[] | undefined
  readonly #random: Random | undefined
  readonly #faultHandler: FaultHandler
  readonly #leaseMs: number
  #calls: Call[] = []
  #timers: ScheduledTimer[] = []

  /** Without a random generator, ready events happen in the order of their requests. */
  constructor(faultHandler: FaultHandler, leaseMs: number, random?: Random, isTraced = false) {
    this.#faultHandler = faultHandler
    this.#leaseMs = leaseMs
    this.#random = random
    if (isTraced) this.trace = []
  }

  addTrace(process: Process | undefined, line: string): void {
    this.trace?.push(`${this.points} @${this.now} ${process?.name ?? 'environment'}: ${line}`)
  }

  /** The store as seen by a process. */
  storeOf(process: Process, store: LogStore): LogStore {
    return new Proxy(store, {
      get: (target, name: keyof LogStore) => {
        if (name === 'maxBatchBytes') return target.maxBatchBytes
        if (name === 'close') return async () => {}
        if (name === 'watch') return (id: string, wake: () => void) => target.watch(id, () => this.#wake(process, wake))
        return (...args: unknown[]) =>
          this.#call(process, `${name} ${this.trace ? JSON.stringify(args).slice(0, 200) : ''}`, () =>
            (target[name] as (...args: unknown[]) => Promise<unknown>).apply(target, args),
          )
      },
    })
  }

  /** The timers of a process. */
  timersOf(process: Process): Timers {
    return { now: () => this.now, after: (ms, fire) => this.after(ms, fire, process) }
  }

  after(ms: number, fire: () => void, process?: Process): () => void {
    const timer = { process, at: this.now + Math.max(0, ms), fire }
    if (process?.isAlive !== false) this.#timers.push(timer)
    return () => this.#drop(timer)
  }

  /** A synchronous event of a process. The process may die or freeze at it. */
  point(process: Process, label: string): void {
    this.points++
    this.addTrace(process, label)
    const fault = this.#faultHandler.faultAt(this.points)
    if (fault === undefined) return
    this.addTrace(process, `${fault} at point ${this.points}`)
    if (fault.startsWith('death')) this.kill(process)
    else if (fault.startsWith('freeze')) this.#freeze(process)
    else if (fault === 'cut-off') this.#cutOff(process)
    else this.#faultHandler.onFault(fault, process)
  }

  kill(process: Process): void {
    this.retire(process)
    this.#faultHandler.onGone(process)
  }

  /** Removes a process: it has no effects any more. */
  retire(process: Process): void {
    process.isAlive = false
    this.#calls = this.#calls.filter(call => call.process !== process)
    this.#timers = this.#timers.filter(timer => timer.process !== process)
  }

  /** Runs until a condition holds. Returns false if it never does. */
  async until(condition: () => boolean, maxSteps: number): Promise<boolean> {
    for (let step = 0; step < maxSteps; step++) {
      await eventLoopTurn()
      if (condition()) return true
      this.steps++
      const next = this.#next()
      if (next === undefined) return false
      next()
    }
    return false
  }

  #call(process: Process, label: string, run: () => Promise<unknown>): Promise<unknown> {
    const answer = Promise.withResolvers<unknown>()
    if (process.isAlive) this.#calls.push({ process, label, run, answer })
    return answer.promise
  }

  #wake(process: Process, wake: () => void): void {
    if (!process.isAlive) return
    if (process.frozenUntil <= this.now) wake()
    else process.missedWakes.add(wake)
  }

  /** Runs the next event. Time passes when every process waits. */
  #next(): (() => void) | undefined {
    const isFree = (process: Process | undefined) => process === undefined || process.frozenUntil <= this.now
    const calls = this.#calls.filter(({ process }) => isFree(process))
    if (calls.length === 0) {
      let earliest = Number.POSITIVE_INFINITY
      for (const { process, at } of this.#timers) earliest = Math.min(earliest, Math.max(at, process?.frozenUntil ?? 0))
      for (const { process } of this.#calls) earliest = Math.min(earliest, process.frozenUntil)
      if (earliest === Number.POSITIVE_INFINITY) return undefined
      this.now = Math.max(this.now, earliest)
    }
    const timers = this.#timers.filter(({ process, at }) => at <= this.now && isFree(process))
    const first = calls.length > 0 ? calls[0] : undefined
    if (this.#random === undefined) {
      if (first) return () => this.#serve(first)
      return this.#fireTimer(
        timers.reduce((first, next) => (next.at < first.at ? next : first), timers[0] as ScheduledTimer),
      )
    }
    const index = this.#random.below(calls.length + timers.length)
    const call = calls[index]
    return call ? () => this.#serve(call) : this.#fireTimer(timers[index - calls.length])
  }

  #fireTimer(timer: ScheduledTimer | undefined): () => void {
    // Without other events, a frozen process continues.
    if (timer === undefined) return () => {}
    return () => {
      this.#drop(timer)
      timer.fire()
    }
  }

  #drop(timer: ScheduledTimer): void {
    const at = this.#timers.indexOf(timer)
    if (at >= 0) this.#timers.splice(at, 1)
  }

  /** Applies a fault to a call and executes it. */
  #serve(call: Call): void {
    const { process, label, answer } = call
    this.#calls.splice(this.#calls.indexOf(call), 1)
    this.now += this.#random?.below(4) ?? 1
    this.points++
    const isCutOff = process.cutOffUntil > this.now
    const fault = isCutOff ? undefined : this.#faultHandler.faultAt(this.points)
    this.addTrace(process, isCutOff ? `${label}: cut off` : fault ? `${label}: ${fault}` : label)
    if (isCutOff) this.#unavailable(call)
    else if (fault) this.#applyFault(fault, call)
    else answer.resolve(this.#run(call))
  }

  #applyFault(fault: Fault, call: Call): void {
    const { process, answer } = call
    // The effect in the store.
    if (fault === 'freeze-before') this.#calls.push(call)
    if (fault === 'death-late' || fault === 'delivered-late') this.#runLater(call)
    const isDone = fault === 'death-after' || fault === 'reply-lost' || fault === 'freeze-after'
    const done = isDone ? this.#run(call) : undefined
    // The reply to the process.
    switch (fault) {
      case 'death-before':
      case 'death-after':
      case 'death-late':
        this.kill(process)
        break
      case 'freeze-before':
        this.#freeze(process)
        break
      case 'freeze-after':
        this.#freeze(process)
        this.after(process.frozenUntil - this.now, () => answer.resolve(done), process)
        break
      case 'cut-off':
        this.#cutOff(process)
        this.#unavailable(call)
        break
      case 'request-lost':
      case 'reply-lost':
      case 'delivered-late':
        this.#unavailable(call)
        break
      default:
        this.#faultHandler.onFault(fault, process)
        answer.resolve(this.#run(call))
    }
  }

  async #run({ run, process, label }: Call): Promise<unknown> {
    const done = run()
    if (this.trace) {
      done.then(
        result => this.addTrace(process, `${label.split(' ')[0]} answers ${JSON.stringify(result)?.slice(0, 100)}`),
        error => this.addTrace(process, `${label.split(' ')[0]} fails: ${error}`),
      )
    }
    return done
  }

  #runLater(call: Call): void {
    const { process, label } = call
    const ms = this.#random?.between(1, 2 * this.#leaseMs) ?? this.#leaseMs
    this.after(ms, () => {
      this.addTrace(process, `late: ${label}`)
      this.#run(call).catch(() => {})
    })
  }

  #unavailable({ answer }: Call): void {
    answer.reject(new LogError('unavailable', 'the store did not answer'))
  }

  #freeze(process: Process): void {
    const { missedWakes } = process
    this.#faultHandler.onGone(process)
    process.frozenUntil = this.now + this.#leaseMs + (this.#random?.below(2 * this.#leaseMs) ?? 1)
    this.after(
      process.frozenUntil - this.now,
      () => {
        this.addTrace(process, 'continues')
        for (const wake of missedWakes) wake()
        missedWakes.clear()
      },
      process,
    )
  }

  #cutOff(process: Process): void {
    process.cutOffUntil = this.now + (this.#random?.between(1, 3 * this.#leaseMs) ?? this.#leaseMs)
  }
}
