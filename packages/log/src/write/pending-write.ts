import type { Write } from './lane.ts'

/** A promise that is created on first use, shared by all slots of one append. */
export class Deferred<T> {
  // An unobserved failure stops the writer, which reports it.
  #deferred: PromiseWithResolvers<T> | undefined
  #settled: { readonly value: T } | { readonly error: unknown } | undefined

  get promise(): Promise<T> {
    if (this.#deferred === undefined) {
      this.#deferred = Promise.withResolvers()
      this.#deferred.promise.catch(() => {})
      this.#forward()
    }
    return this.#deferred.promise
  }

  resolve(value: T): void {
    this.#settled ??= { value }
    this.#forward()
  }

  reject(error: unknown): void {
    this.#settled ??= { error }
    this.#forward()
  }

  #forward(): void {
    const settled = this.#settled
    if (settled === undefined) return
    if ('error' in settled) this.#deferred?.reject(settled.error)
    else this.#deferred?.resolve(settled.value)
  }
}

/** A write in flight. */
export class PendingWrite implements Write {
  readonly #result: Deferred<Awaited<Write['appended']>>
  readonly #room: Promise<void> | undefined

  constructor(result: Deferred<Awaited<Write['appended']>>, room: Promise<void> | undefined) {
    this.#result = result
    this.#room = room
  }

  get appended(): Write['appended'] {
    return this.#result.promise
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting a write is its meaning, and a promise for each delta would cost more than the delta
  then<A = void, B = never>(
    done?: ((value: undefined) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return (this.#room ?? Promise.resolve()).then(done as () => A | PromiseLike<A>, failed)
  }
}
