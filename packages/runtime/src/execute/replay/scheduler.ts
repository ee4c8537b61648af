// Schedules the hooks of one execution: which may start, which run or wait, and in which order their callers are answered.

import { MAX_TIMER_MS } from '@millrace/log/internal'
import type { ProgramExecution } from '../program-execution.ts'

/** Why a hook does not continue in this process: it waits for answers until a deadline, or another process continues it. */
export type ParkedHook = { readonly on: readonly string[]; readonly until: number } | 'handed-over'

interface ActiveHook {
  /** The hook's function name, such as `useStep`. */
  readonly hook: string
  /** Undefined while the hook runs. */
  parked: ParkedHook | undefined
}

/**
 * Answers callers one at a time, each after the code has done all that it can do without the answer. A replay answers in the recorded order, so the code takes
 * the same path even if another hook is faster this time.
 */
export class HookScheduler {
  readonly #active = new Map<string, ActiveHook>()
  readonly #onChange: () => void
  /** The active hook that was called without an id. */
  #activeWithoutId: string | undefined
  #wereConcurrent = false
  /** The last place that was reserved in the order of answers. */
  #lastPlace: number
  /** Places of hooks that are not ready to be answered. */
  readonly #reserved = new Set<number>()
  /** Hooks that are ready to be answered, by place. */
  readonly #ready = new Map<number, () => void>()
  #isAnswerScheduled = false

  /** `lastPlace` is the last recorded place in the order of answers; `onChange` is called when a hook starts, parks, continues or finishes. */
  constructor(lastPlace: number, onChange: () => void) {
    this.#lastPlace = lastPlace
    this.#onChange = onChange
  }

  /** The number of active hooks: those that run or are parked. */
  get size(): number {
    return this.#active.size
  }

  /** The active hook that started first. */
  get first(): string | undefined {
    return this.#active.keys().next().value
  }

  /** Whether hooks of this execution were ever active at the same time. */
  get wereConcurrent(): boolean {
    return this.#wereConcurrent
  }

  /** Whether hooks are active and all of them are parked. */
  get isParked(): boolean {
    return this.#active.size > 0 && this.parked.length === this.#active.size
  }

  get parked(): readonly ParkedHook[] {
    return [...this.#active.values()].flatMap(({ parked }) => (parked === undefined ? [] : [parked]))
  }

  /** The function name of an active hook. */
  hookOf(hookId: string): string | undefined {
    return this.#active.get(hookId)?.hook
  }

  /** Whether a hook may start now. Hooks run concurrently only if each has an id. */
  canStart(id: string | undefined): boolean {
    return this.#active.size === 0 || (id !== undefined && this.#activeWithoutId === undefined)
  }

  /** Whether a hook with the same name is active. */
  isActive(hookId: string): boolean {
    const name = withoutUse(hookId)
    return [...this.#active.keys()].some(other => withoutUse(other) === name)
  }

  start(hookId: string, hook: string, hasId: boolean): void {
    if (!hasId) this.#activeWithoutId = hookId
    if (this.#active.size > 0) this.#wereConcurrent = true
    this.#active.set(hookId, { hook, parked: undefined })
    this.#onChange()
  }

  park(hookId: string, parked: ParkedHook): void {
    this.#setParked(hookId, parked)
  }

  unpark(hookId: string): void {
    this.#setParked(hookId, undefined)
  }

  finish(hookId: string): void {
    if (this.#activeWithoutId === hookId) this.#activeWithoutId = undefined
    this.#active.delete(hookId)
    this.#onChange()
  }

  /** Reserves the next place in the order of answers. Later places wait until this one was answered. */
  reservePlace(): number {
    this.#lastPlace++
    this.#reserved.add(this.#lastPlace)
    return this.#lastPlace
  }

  /** Resolves when the hook at this place may answer its caller. */
  waitForTurn(place: number): Promise<void> {
    return new Promise(answer => {
      this.#ready.set(place, answer)
      this.#reserved.delete(place)
      this.#scheduleAnswer()
    })
  }

  #setParked(hookId: string, parked: ParkedHook | undefined): void {
    const active = this.#active.get(hookId)
    if (active) active.parked = parked
    this.#onChange()
  }

  #scheduleAnswer(): void {
    if (this.#isAnswerScheduled || this.#ready.size === 0) return
    this.#isAnswerScheduled = true
    // setImmediate runs after all microtasks: by then the code has done all that it can do without this answer.
    setImmediate(() => {
      this.#isAnswerScheduled = false
      const first = Math.min(...this.#ready.keys())
      for (const place of this.#reserved) if (place < first) return
      const answer = this.#ready.get(first)
      this.#ready.delete(first)
      answer?.()
      this.#scheduleAnswer()
    })
  }
}

/** The id of a hook without its use count. */
const withoutUse = (hookId: string): string => hookId.slice(0, hookId.lastIndexOf('.'))

/** Resolves when another writer changes the ticket, or at a time of the store's clock. Cancels its timer when the signal aborts. */
export async function waitForTicketChange(
  { ticketChanged, timers, clock }: ProgramExecution,
  until: number,
  signal: AbortSignal,
): Promise<void> {
  const { count } = ticketChanged
  const { promise: deadline, resolve } = Promise.withResolvers<void>()
  const delayMs = Math.min(Math.max(until - clock(), 1), MAX_TIMER_MS)
  const cancel = Number.isFinite(until) ? timers.after(delayMs, resolve, true) : () => {}
  signal.addEventListener('abort', cancel, { once: true })
  await Promise.race([ticketChanged.after(count), deadline])
  cancel()
  signal.removeEventListener('abort', cancel)
}
