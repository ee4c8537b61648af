/** Whether somebody has left, and why: what a signal says, at a fraction of its cost for who waits with every piece. */
export class Cancellation {
  #left: { readonly why: unknown } | undefined
  readonly #waiting = new Set<(why: unknown) => void>()

  /** Tells all who wait; what is said later changes nothing. */
  cancel(why: unknown): void {
    if (this.#left) return
    this.#left = { why }
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const tell of waiting) tell(why)
  }

  /** Throws why, once somebody has left. */
  throwIfCancelled(): void {
    if (this.#left) throw this.#left.why
  }

  /** Calls back when somebody leaves, and soon where they have; gives what calls it off. */
  onCancel(tell: (why: unknown) => void): () => void {
    const left = this.#left
    if (left) queueMicrotask(() => tell(left.why))
    else this.#waiting.add(tell)
    return () => this.#waiting.delete(tell)
  }
}
