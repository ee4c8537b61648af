// Hooks are answered one at a time. All that code does from one answer until the next follows from that one: so it has a place there, which is the same
// when the code starts again, whichever of several hooks is faster then.

export class Gate {
  #anchor = ''
  #last: Promise<void> = Promise.resolve()

  /** The hook that was answered last; none, before the first. */
  get anchor(): string {
    return this.#anchor
  }

  /** Resolves when it is a hook's turn to be answered. */
  async pass(anchor: string): Promise<void> {
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last = promise
    await before
    this.#anchor = anchor
    // Who waited for it goes on before that, as far as it can without another answer.
    setImmediate(resolve)
  }
}
