// The base of every stream helper. `return()` of an async generator queues behind its pending `next()`, so a generator cannot be left while
// it waits for its source. An `AbortableIterator` reads the source instead: it can be closed at any time, and the generator sees a normal end.

/** What every stream helper takes last. */
export interface StreamOptions {
  /** Aborting it releases the source and makes the stream throw the signal's reason, also while the source is silent. */
  signal?: AbortSignal | undefined
}

/** The end of a stream. */
export const over = { done: true, value: undefined } as const

interface Waiting<T> {
  resolve: (result: IteratorResult<T, undefined>) => void
  reject: (reason: unknown) => void
}

/** Reads a source, one `next()` at a time, until it ends or the iterator is closed. Releases the source once, unless it ended by itself. */
export class AbortableIterator<T> implements AsyncIterableIterator<T, undefined> {
  readonly #source: AsyncIterable<T>
  readonly #signal: AbortSignal | undefined
  #iterator: AsyncIterator<T> | undefined
  #waiting: Waiting<T> | undefined
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
    if (this.#closed) return over
    try {
      if (this.#iterator === undefined) {
        this.#iterator = this.#source[Symbol.asyncIterator]()
        signal?.addEventListener('abort', this.#abort)
      }
      const item = Promise.resolve(this.#iterator.next())
      const result = await new Promise<IteratorResult<T, undefined>>((resolve, reject) => {
        this.#waiting = { resolve, reject }
        item.then(resolve, reject)
      })
      if (result.done) this.#end()
      return result.done ? over : result
    } catch (error) {
      this.#end()
      throw error
    } finally {
      this.#waiting = undefined
    }
  }

  /** Closes the iterator. Waits for the release of the source only if no `next()` is pending, which may never settle. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    const gone = this.#release()
    if (this.#waiting) this.#waiting.resolve(over)
    else await gone
    return over
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  readonly #abort = (): void => {
    this.#release()
    this.#waiting?.reject(this.#signal?.reason)
  }

  #end(): void {
    this.#closed = true
    this.#signal?.removeEventListener('abort', this.#abort)
  }

  #release(): Promise<unknown> | undefined {
    if (this.#closed) return undefined
    this.#end()
    const gone = (async () => (this.#iterator ?? this.#source[Symbol.asyncIterator]()).return?.())()
    // Whoever waits for it still sees its error; nobody may be waiting.
    gone.catch(() => {})
    return gone
  }
}

/** A stream made from a source by a generator; leaving it or aborting it releases the source at once. */
export function pipe<T, U>(
  source: AsyncIterable<T>,
  body: (items: AbortableIterator<T>) => AsyncGenerator<U, void>,
  options?: StreamOptions,
): AsyncIterableIterator<U, undefined> {
  const items = new AbortableIterator(source, options?.signal)
  const generator = body(items)
  return {
    next: () => generator.next() as Promise<IteratorResult<U, undefined>>,
    return: () => Promise.all([items.return(), generator.return()]).then(() => over),
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
