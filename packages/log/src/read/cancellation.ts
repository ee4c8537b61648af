/** A reason to stop, and callbacks for it. Like an AbortSignal, but cheaper per wait. */
export class Cancellation {
  #cancelled: { readonly reason: unknown } | undefined
  readonly #callbacks = new Set<(reason: unknown) => void>()

  /** Calls all callbacks. Later calls do nothing. */
  cancel(reason: unknown): void {
    if (this.#cancelled) return
    this.#cancelled = { reason }
    const callbacks = [...this.#callbacks]
    this.#callbacks.clear()
    for (const callback of callbacks) callback(reason)
  }

  /** Throws the reason if cancelled. */
  throwIfCancelled(): void {
    if (this.#cancelled) throw this.#cancelled.reason
  }

  /**
   * Calls back on cancellation, or in a microtask if it is cancelled already. Returns the function that removes the
   * callback.
   */
  onCancel(callback: (reason: unknown) => void): () => void {
    const cancelled = this.#cancelled
    if (cancelled) queueMicrotask(() => callback(cancelled.reason))
    else this.#callbacks.add(callback)
    return () => this.#callbacks.delete(callback)
  }
}
