// The base of every stream helper. `return()` of an async generator queues behind its pending `next()`, so a generator cannot be left while
// it waits for its source. An `AbortableIterator` reads the source instead: it can be closed at any time, and the generator sees a normal end.

/** Options of every stream helper. */
export interface StreamOptions {
  /**
   * Aborting it releases the source and makes the stream throw the signal's reason, also while the source is silent.
   * @default none
   */
  signal?: AbortSignal | undefined
}

/** The end of a stream. */
export const END = { done: true, value: undefined } as const

interface PendingNext<T> {
  resolve: (result: IteratorResult<T, undefined>) => void
  reject: (reason: unknown) => void
}

/** Reads a source, one `next()` at a time, until it ends or the iterator is closed. Releases the source once, unless it ended by itself. */
export class AbortableIterator<T> implements AsyncIterableIterator<T, undefined> {
  readonly #source: AsyncIterable<T>
  readonly #signal: AbortSignal | undefined
  #iterator: AsyncIterator<T> | undefined
  #pendingNext: PendingNext<T> | undefined
  #closed = false

  constructor(source: AsyncIterable<T>, signal?: AbortSignal) {
    this.#source = source
    this.#signal = signal
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    const signal = this.#signal
    if (signal?.aborted) {
      this.#release()
      throw signal.reason
    }
    if (this.#closed) return END
    try {
      if (this.#iterator === undefined) {
        this.#iterator = this.#source[Symbol.asyncIterator]()
        signal?.addEventListener('abort', this.#abort)
      }
      const item = Promise.resolve(this.#iterator.next())
      const result = await new Promise<IteratorResult<T, undefined>>((resolve, reject) => {
        this.#pendingNext = { resolve, reject }
        item.then(resolve, reject)
      })
      if (result.done) this.#end()
      return result.done ? END : result
    } catch (error) {
      this.#end()
      throw error
    } finally {
      this.#pendingNext = undefined
    }
  }

  /** Closes the iterator. Waits for the release of the source only if no `next()` is pending, which may never settle. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    const released = this.#release()
    if (this.#pendingNext) this.#pendingNext.resolve(END)
    else await released
    return END
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  readonly #abort = (): void => {
    this.#release()
    this.#pendingNext?.reject(this.#signal?.reason)
  }

  #end(): void {
    this.#closed = true
    this.#signal?.removeEventListener('abort', this.#abort)
  }

  #release(): Promise<unknown> | undefined {
    if (this.#closed) return undefined
    this.#end()
    const released = (async () => (this.#iterator ?? this.#source[Symbol.asyncIterator]()).return?.())()
    // Awaiting the promise still throws. This prevents an unhandled rejection when it is not awaited.
    released.catch(() => {})
    return released
  }
}

/** Transforms a source with a generator. Returning or aborting the stream releases the source at once. */
export function pipe<T, U>(
  source: AsyncIterable<T>,
  body: (items: AbortableIterator<T>) => AsyncGenerator<U, void>,
  options?: StreamOptions,
): AsyncIterableIterator<U, undefined> {
  const items = new AbortableIterator(source, options?.signal)
  const generator = body(items)
  return {
    next: () => generator.next() as Promise<IteratorResult<U, undefined>>,
    return: () => Promise.all([items.return(), generator.return()]).then(() => END),
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
