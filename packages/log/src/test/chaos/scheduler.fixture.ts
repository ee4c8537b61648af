// One thing at a time: every call that an actor makes to its store, and every alarm that it sets, waits here until it is picked. What is picked,
// and what becomes of it, comes from one seed, so a schedule is the same each time, whatever the store.

import { LogError } from '../../store/log-error.ts'
import type { Timers } from '../../store/timers.ts'
import type { Faults } from './faults.fixture.ts'
import type { Random } from './random.fixture.ts'

/** An actor's life: what belongs to a dead one is never answered and never rings. */
export class Process {
  readonly name: string
  isAlive = true
  /** The step before which nothing of it moves, as when its machine is suspended. */
  frozenUntil = 0

  constructor(name: string) {
    this.name = name
  }
}

interface Call {
  readonly process: Process
  readonly label: string
  readonly run: () => Promise<unknown>
  readonly answer: PromiseWithResolvers<unknown>
  notBefore: number
}

interface Alarm {
  readonly process: Process
  readonly at: number
  readonly ring: () => void
}

/** A request that still is under way when nobody waits for its answer. */
interface Late {
  readonly label: string
  readonly run: () => Promise<unknown>
  readonly notBefore: number
}

const settled = () => new Promise<void>(done => setImmediate(done))

/** How far time jumps at most where everybody waits for it. */
const MAX_WAIT_MS = 1_000

export class Scheduler {
  readonly random: Random
  /** All there is to say about a failed schedule. */
  readonly trace: string[] = []
  faults: Faults
  /** Every process's own clock, in milliseconds. */
  now = 1_000_000
  steps = 0
  readonly counts: Record<string, number> = {}
  /** Told who died, so that somebody takes its place. */
  onDeath: (process: Process) => void = () => {}
  /** Called before each step, when time has passed. */
  onTime: () => void = () => {}
  #calls: Call[] = []
  #alarms: Alarm[] = []
  #late: Late[] = []

  constructor(random: Random, faults: Faults) {
    this.random = random
    this.faults = faults
  }

  note(line: string): void {
    this.trace.push(`${this.steps} @${this.now} ${line}`)
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  /** Has a call of a process wait for its turn. */
  call<T>(process: Process, label: string, run: () => Promise<T>): Promise<T> {
    const answer = Promise.withResolvers<unknown>()
    // Nobody may be waiting any more when it fails.
    answer.promise.catch(() => {})
    if (process.isAlive) this.#calls.push({ process, label, run, answer, notBefore: this.steps })
    return answer.promise as Promise<T>
  }

  /** Rings once, unless cancelled or its process died. */
  after(process: Process, ms: number, ring: () => void): () => void {
    const alarm = { process, at: this.now + Math.max(0, ms), ring }
    if (process.isAlive) this.#alarms.push(alarm)
    return () => {
      this.#alarms = this.#alarms.filter(other => other !== alarm)
    }
  }

  /** Time as a process sees it. */
  timersOf(process: Process): Timers {
    return { now: () => this.now, after: (ms, ring) => this.after(process, ms, ring) }
  }

  /** Ends a process where it stands; a request that it has sent may still arrive. */
  kill(process: Process, why: string): void {
    this.note(`${process.name} dies ${why}`)
    this.count('deaths')
    process.isAlive = false
    for (const call of this.#calls) {
      if (call.process === process && this.random.chance(0.3)) this.#deliverLate(call)
    }
    this.retire(process)
    this.onDeath(process)
  }

  /** Forgets a process. */
  retire(process: Process): void {
    process.isAlive = false
    this.#calls = this.#calls.filter(call => call.process !== process)
    this.#alarms = this.#alarms.filter(alarm => alarm.process !== process)
  }

  /** Ends all faults: what was held up goes on, and what is under way arrives. */
  async calm(faults: Faults): Promise<void> {
    this.faults = faults
    for (const call of this.#calls) {
      call.notBefore = 0
      call.process.frozenUntil = 0
    }
    for (const late of this.#late.splice(0)) await this.#arrive(late)
  }

  /** One step: a call, an alarm, or a late request. False where there is nothing left to happen. */
  async step(): Promise<boolean> {
    await settled()
    const { random, faults } = this
    this.steps++
    this.now += random.chance(faults.pause) ? random.below(faults.pauseMs) : random.below(4)
    const ready = this.#ready()
    if (ready === undefined) return false
    this.onTime()
    if (ready.length === 0) return true
    await random.pick(ready)()
    await settled()
    return true
  }

  /** What can happen now; where only time can help, it passes. Undefined where even that does not. */
  #ready(): (() => Promise<void>)[] | undefined {
    const { steps } = this
    const isFree = ({ frozenUntil }: Process) => frozenUntil <= steps
    const calls = this.#calls.filter(({ process, notBefore }) => notBefore <= steps && isFree(process))
    const late = this.#late.filter(({ notBefore }) => notBefore <= steps)
    const alarms = this.#alarms.filter(({ process }) => isFree(process))
    if (calls.length === 0 && late.length === 0 && alarms.length > 0) {
      const next = alarms.reduce((soonest, { at }) => Math.min(soonest, at), Number.POSITIVE_INFINITY)
      this.now = Math.max(this.now, Math.min(next, this.now + MAX_WAIT_MS))
    }
    const due = alarms.filter(({ at }) => at <= this.now)
    if (this.#calls.length + this.#late.length + this.#alarms.length === 0) return undefined
    return [
      ...calls.map(call => () => this.#serve(call)),
      ...late.map(late => () => this.#arrive(late)),
      ...due.map(alarm => () => this.#ring(alarm)),
    ]
  }

  async #ring(alarm: Alarm): Promise<void> {
    this.#alarms = this.#alarms.filter(other => other !== alarm)
    alarm.ring()
  }

  async #arrive(late: Late): Promise<void> {
    this.#late = this.#late.filter(other => other !== late)
    this.note(`late: ${late.label}`)
    await late.run().catch(() => {})
  }

  /** Decides what becomes of a call, and lets it. */
  async #serve(call: Call): Promise<void> {
    const { process, label } = call
    const fate = this.faults.fate(this.random)
    if (fate !== 'answered') this.count(fate)
    switch (fate) {
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
        this.#deliverLate(call)
        return this.#fail(call, 'given up on, still under way')
      case 'connection-cut':
        for (const other of this.#calls.filter(other => other.process === process)) {
          if (this.random.chance(0.5)) this.#deliverLate(other)
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
        this.#deliverLate(call)
        return this.#answer(call)
      case 'answered':
        return this.#answer(call)
    }
  }

  async #answer(call: Call): Promise<void> {
    const { process, label, run, answer } = call
    this.#remove(call)
    this.note(`${process.name} ${label}`)
    try {
      answer.resolve(await run())
    } catch (error) {
      this.note(`${process.name} ${label}: ${error}`)
      answer.reject(error)
    }
  }

  #fail(call: Call, why: string): void {
    this.note(`${call.process.name} ${call.label}: ${why}`)
    this.#remove(call)
    call.answer.reject(new LogError('unavailable', `no answer: ${why}`))
  }

  #deliverLate({ label, run }: Call): void {
    this.#late.push({ label, run, notBefore: this.steps + this.random.between(1, 60) })
  }

  #remove(call: Call): void {
    this.#calls = this.#calls.filter(other => other !== call)
  }
}
