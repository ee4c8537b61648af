import type { Write } from './lane.ts'

/** The promise of what becomes of all that goes out together. */
export class Deferred<T> {
  // Nobody need ask; a failure that nobody asks about stops the writer, which tells.
  #deferred: PromiseWithResolvers<T> | undefined
  #settled: { readonly value: T } | { readonly error: unknown } | undefined

  get promise(): Promise<T> {
    if (this.#deferred === undefined) {
      this.#deferred = Promise.withResolvers()
      this.#deferred.promise.catch(() => {})
      this.#tell()
    }
    return this.#deferred.promise
  }

  resolve(value: T): void {
    this.#settled ??= { value }
    this.#tell()
  }

  reject(error: unknown): void {
    this.#settled ??= { error }
    this.#tell()
  }

  #tell(): void {
    const settled = this.#settled
    if (settled === undefined) return
    if ('error' in settled) this.#deferred?.reject(settled.error)
    else this.#deferred?.resolve(settled.value)
  }
}

/** A write under way. */
export class PendingWrite implements Write {
  readonly #flight: Deferred<Awaited<Write['appended']>>
  readonly #room: Promise<void> | undefined

  constructor(flight: Deferred<Awaited<Write['appended']>>, room: Promise<void> | undefined) {
    this.#flight = flight
    this.#room = room
  }

  get appended(): Write['appended'] {
    return this.#flight.promise
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting a write is its meaning, and a promise for each delta would cost more than the delta
  then<A = void, B = never>(
    done?: ((value: undefined) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return (this.#room ?? Promise.resolve()).then(done as () => A | PromiseLike<A>, failed)
  }
}
