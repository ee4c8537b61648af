import { LogError } from '../store/log-error.ts'
import type { LogStore, Page, Wake } from '../store/log-store.ts'

type Asynchronous = {
  [K in keyof LogStore]-?: NonNullable<LogStore[K]> extends (...args: never[]) => Promise<unknown> ? K : never
}[keyof LogStore]

/** A call that a test delays. */
export interface Held {
  /** Resolves when a call waits here. */
  readonly arrived: Promise<void>
  /** Lets this call and all later ones continue. */
  open(): void
}

type Step = () => Promise<void> | void

/** A store with calls that a test can count, delay and fail. */
export class InstrumentedStore {
  readonly store: LogStore
  readonly #inner: LogStore
  readonly #counts = new Map<string, number>()
  readonly #before = new Map<string, Step[]>()
  readonly #after = new Map<string, Step[]>()
  /** Watches that are not stopped. */
  watches = 0
  /** Whether wake-ups name the head, as of the stores of Millrace. Other stores may not. */
  namesHeads = true
  /** Number of entries that were read. */
  entries = 0
  /** Runs before and after each call reaches the store. */
  delay: (() => Promise<void>) | undefined
  #isDown = false

  constructor(inner: LogStore) {
    this.#inner = inner
    this.store = new Proxy(inner, { get: (_, name) => this.#get(name as keyof LogStore) })
  }

  /** Number of calls of a method. */
  count(method: Asynchronous): number {
    return this.#counts.get(method) ?? 0
  }

  /** Resets the counts. */
  reset(): void {
    this.#counts.clear()
    this.entries = 0
  }

  /** Fails the next call as unavailable before it reaches the store. */
  fail(method: Asynchronous, times = 1): void {
    for (let i = 0; i < times; i++) push(this.#before, method, unavailable)
  }

  /** Executes the next call and loses its answer. */
  lose(method: Asynchronous, times = 1): void {
    for (let i = 0; i < times; i++) push(this.#after, method, unavailable)
  }

  /** Makes the store unavailable, or available again. */
  set isDown(down: boolean) {
    this.#isDown = down
  }

  /** Delays the next call before it reaches the store, or before its answer returns. */
  hold(method: Asynchronous, where: 'before' | 'after' = 'before'): Held {
    const arrived = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    push(where === 'before' ? this.#before : this.#after, method, () => {
      arrived.resolve()
      return gate.promise
    })
    return { arrived: arrived.promise, open: gate.resolve }
  }

  #get(name: keyof LogStore): unknown {
    if (name === 'maxBatchBytes' || name === 'heartbeat') return this.#inner[name]
    if (name === 'watch') return this.#watch
    const call = this.#inner[name] as ((...args: unknown[]) => Promise<unknown>) | undefined
    if (call === undefined) return undefined
    return async (...args: unknown[]) => {
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
      if (this.#isDown) unavailable()
      await this.delay?.()
      await this.#before.get(name)?.shift()?.()
      const answer = await call.apply(this.#inner, args)
      if (name === 'read')
        for (const { first, last } of (answer as Page | undefined)?.batches ?? []) this.entries += last - first + 1
      if (this.#isDown) unavailable()
      await this.#after.get(name)?.shift()?.()
      await this.delay?.()
      return answer
    }
  }

  readonly #watch = (streamId: string, wake: Wake): (() => void) => {
    const stop = this.#inner.watch(streamId, head => (this.namesHeads ? wake(head) : wake()))
    this.watches++
    let isStopped = false
    return () => {
      if (!isStopped) this.watches--
      isStopped = true
      stop()
    }
  }
}

function unavailable(): never {
  throw new LogError('unavailable', 'the test makes the store unavailable')
}

function push(steps: Map<string, Step[]>, method: string, step: Step): void {
  steps.set(method, [...(steps.get(method) ?? []), step])
}
