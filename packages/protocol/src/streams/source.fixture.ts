/** A source that records its use. After its items it ends, fails or stays silent. */
export class Source<Item> implements AsyncIterable<Item> {
  /** The number of `next()` calls. */
  pulls = 0
  /** The number of `return()` calls. */
  returns = 0
  /** The number of pending `next()` calls, and its maximum. */
  pending = 0
  maxPending = 0
  readonly #items: Iterator<Item>
  readonly #then: 'end' | 'silence' | Error

  constructor(items: Iterable<Item>, then: 'end' | 'silence' | Error = 'end') {
    this.#items = items[Symbol.iterator]()
    this.#then = then
  }

  [Symbol.asyncIterator](): AsyncIterator<Item, undefined> {
    return {
      next: async () => {
        this.pulls++
        this.maxPending = Math.max(this.maxPending, ++this.pending)
        await undefined
        const item = this.#items.next()
        if (item.done && this.#then === 'silence') await new Promise(() => {})
        this.pending--
        if (item.done && this.#then instanceof Error) throw this.#then
        return item.done ? { done: true, value: undefined } : item
      },
      return: async () => {
        this.returns++
        return { done: true, value: undefined }
      },
    }
  }
}
