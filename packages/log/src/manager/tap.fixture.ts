import { LogError } from '../store/log-error.ts'
import type { LogStore, Page } from '../store/log-store.ts'

type Asynchronous = {
  [K in keyof LogStore]: LogStore[K] extends (...args: never[]) => Promise<unknown> ? K : never
}[keyof LogStore]

/** A call that a test holds back. */
export interface Held {
  /** Settles once a call waits here. */
  readonly arrived: Promise<void>
  /** Lets it, and all that follow, go on. */
  open(): void
}

type Step = () => Promise<void> | void

/** A store whose calls a test can count, hold back and let fail. */
export class Tap {
  readonly store: LogStore
  readonly #inner: LogStore
  readonly #counts = new Map<string, number>()
  readonly #before = new Map<string, Step[]>()
  readonly #after = new Map<string, Step[]>()
  /** Watches that nobody has stopped yet. */
  watches = 0
  /** How many entries were read. */
  entries = 0
  /** What every call waits for before and after it reaches the store. */
  delay: (() => Promise<void>) | undefined
  #isDown = false

  constructor(inner: LogStore) {
    this.#inner = inner
    this.store = new Proxy(inner, { get: (_, name) => this.#get(name as keyof LogStore) })
  }

  /** How often a method was called. */
  count(method: Asynchronous): number {
    return this.#counts.get(method) ?? 0
  }

  /** Forgets the counts. */
  reset(): void {
    this.#counts.clear()
    this.entries = 0
  }

  /** The next call does not reach the store, and fails as one out of reach does. */
  fail(method: Asynchronous, times = 1): void {
    for (let i = 0; i < times; i++) push(this.#before, method, unavailable)
  }

  /** The next call reaches the store, and its answer is lost. */
  lose(method: Asynchronous, times = 1): void {
    for (let i = 0; i < times; i++) push(this.#after, method, unavailable)
  }

  /** Puts the store out of reach, or back. */
  set isDown(down: boolean) {
    this.#isDown = down
  }

  /** Holds the next call back before it reaches the store, or before its answer is told. */
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
    if (name === 'maxBatchBytes') return this.#inner.maxBatchBytes
    if (name === 'watch') return this.#watch
    const call = this.#inner[name] as (...args: unknown[]) => Promise<unknown>
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

  readonly #watch = (streamId: string, wake: () => void): (() => void) => {
    const stop = this.#inner.watch(streamId, wake)
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
  throw new LogError('unavailable', 'the store is out of reach, says the test')
}

function push(steps: Map<string, Step[]>, method: string, step: Step): void {
  steps.set(method, [...(steps.get(method) ?? []), step])
}
