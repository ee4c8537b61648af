/** A source that records what is asked of it; after its items it ends, fails or stays silent for ever. */
export class Source<Item> implements AsyncIterable<Item> {
  /** How often it was asked for an item. */
  pulls = 0
  /** How often it was let go. */
  returns = 0
  /** How many of the askings are unanswered, and how many were at most. */
  pending = 0
  mostPending = 0
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
        this.mostPending = Math.max(this.mostPending, ++this.pending)
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
