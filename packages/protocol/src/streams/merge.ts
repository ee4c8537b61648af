import { pipe, type StreamOptions, Tap } from './pipe.ts'

/** The sources of a combined stream: of each, one item at most has been asked for and not yet handed out (law 8). */
class Merge<Item> implements AsyncIterator<Item, undefined> {
  readonly #taps: Tap<Item>[]
  /** Who may be asked: whose last item was handed out. */
  #idle: Tap<Item>[]
  /** What arrived, in order. */
  readonly #ready: { tap: Tap<Item>; result: Promise<IteratorResult<Item, undefined>> }[] = []
  #open: number
  #wake: () => void = () => {}

  constructor(streams: Iterable<AsyncIterable<Item>>) {
    this.#taps = Array.from(streams, stream => new Tap(stream))
    this.#idle = this.#taps
    this.#open = this.#taps.length
  }

  async next(): Promise<IteratorResult<Item, undefined>> {
    for (const tap of this.#idle) this.#ask(tap)
    this.#idle = []
    while (this.#open > 0) {
      const first = this.#ready.shift()
      if (first === undefined) {
        await new Promise<void>(resolve => {
          this.#wake = resolve
        })
        continue
      }
      const result = await first.result.catch(error => this.#fail(error))
      if (!result.done) {
        this.#idle.push(first.tap)
        return result
      }
      this.#open--
    }
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<Item, undefined>> {
    await Promise.all(this.#taps.map(tap => tap.return()))
    return { done: true, value: undefined }
  }

  #ask(tap: Tap<Item>): void {
    const result = tap.next()
    const arrive = () => {
      this.#ready.push({ tap, result })
      this.#wake()
    }
    result.then(arrive, arrive)
  }

  /** One source's error is the end of all. */
  async #fail(error: unknown): Promise<never> {
    await Promise.allSettled(this.#taps.map(tap => tap.return()))
    throw error
  }
}

/** The items of all streams as they arrive; an error of one ends the others. */
export function combineStreams<Stream extends AsyncIterable<unknown>>(
  streams: Iterable<Stream>,
  options?: StreamOptions,
): AsyncIterableIterator<Stream extends AsyncIterable<infer Item> ? Item : never, undefined> {
  type Item = Stream extends AsyncIterable<infer I> ? I : never
  return pipe(
    { [Symbol.asyncIterator]: () => new Merge(streams as Iterable<AsyncIterable<Item>>) },
    async function* (items) {
      yield* items
    },
    options,
  )
}
