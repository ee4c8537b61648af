// Retries with exponential backoff: the one policy of requests that are repeated and connections that are reopened.

/** The delays of an exponential backoff. */
export interface Backoff {
  /** Delay before the first retry, in ms. Each further delay is twice as long. */
  readonly first: number
  /** Upper bound of a delay, in ms. */
  readonly longest: number
}

export interface RetryOptions extends Backoff {
  /** Retries without progress before giving up. @default Infinity */
  readonly attempts?: number | undefined
  /** A connection that lasts this long is stable: the next delay is short again. In ms. @default 0 */
  readonly stableMs?: number | undefined
}

/** Connections that make progress but drop early are delayed by at most so many doublings. */
const UNSTABLE_DOUBLINGS = 4

/**
 * Counts the attempts at one thing and delays each retry, with jitter: between half of the delay and all of it. Only progress resets the
 * count, so a server that repeats itself is given up. A server that sends a little and drops is retried at intervals, not at once.
 */
export class RetryDelay {
  readonly #options: RetryOptions
  #failures = 0
  #unstable = 0
  #triedAt = Date.now()
  #end: ((isNext: boolean) => void) | undefined

  constructor(options: RetryOptions) {
    this.#options = options
  }

  /** Resets the count: something new arrived. */
  progressed(): void {
    this.#failures = 0
  }

  /** Whether the current connection, or the last one, has lasted. */
  get isStable(): boolean {
    return Date.now() - this.#triedAt >= (this.#options.stableMs ?? 0)
  }

  /** Waits for the next attempt. False when there is none: too many attempts, an abort, `cancel`, or another `wait`. */
  async wait(atLeastMs = 0, signal?: AbortSignal | null): Promise<boolean> {
    const { first, longest, attempts = Infinity } = this.#options
    this.cancel()
    if (this.#failures >= attempts || signal?.aborted) return false
    this.#failures++
    this.#unstable = this.isStable ? 1 : this.#unstable + 1
    const doublings = Math.max(this.#failures, Math.min(this.#unstable, UNSTABLE_DOUBLINGS)) - 1
    const most = Math.min(longest, first * 2 ** doublings)
    const isNext = await this.#sleep(Math.max(atLeastMs, most / 2 + (Math.random() * most) / 2), signal)
    this.#triedAt = Date.now()
    return isNext
  }

  /** Ends the current wait: the next attempt begins now. */
  wake(): void {
    this.#end?.(true)
  }

  /** Ends the current wait without another attempt. */
  cancel(): void {
    this.#end?.(false)
  }

  #sleep(ms: number, signal: AbortSignal | null | undefined): Promise<boolean> {
    return new Promise(resolve => {
      const abort = () => this.cancel()
      const timer = setTimeout(() => this.wake(), ms)
      signal?.addEventListener('abort', abort)
      this.#end = isNext => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        this.#end = undefined
        resolve(isNext)
      }
    })
  }
}

/**
 * Repeats an attempt until it succeeds. `delayAfter` gets each error and returns the shortest delay before the next attempt, in ms, or
 * false for an error that no retry can mend.
 * @throws the last error, when there is no next attempt.
 */
export async function retry<T>(
  attempt: () => Promise<T>,
  delay: RetryDelay,
  delayAfter: (error: unknown) => number | false,
  signal?: AbortSignal | null,
): Promise<T> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      const atLeastMs = delayAfter(error)
      if (atLeastMs === false || !(await delay.wait(atLeastMs, signal))) throw error
    }
  }
}

/**
 * Reads one stream over as many connections as it takes. `connect` yields what one connection brings, returns true when the stream is
 * complete, and returns false or throws when the connection drops.
 * @throws the error of `connect` if `isFinal`, the abort reason, or `lost()` when there is no next attempt.
 */
export async function* reconnecting<T>(
  connect: () => AsyncGenerator<T, boolean, undefined>,
  delay: RetryDelay,
  isFinal: (error: unknown) => boolean,
  lost: (error: unknown) => unknown,
  signal?: AbortSignal | null,
): AsyncGenerator<T, void, undefined> {
  let last: unknown
  do {
    try {
      if (yield* connect()) return
      last = undefined
    } catch (error) {
      signal?.throwIfAborted()
      if (isFinal(error)) throw error
      last = error
    }
  } while (await delay.wait(0, signal))
  signal?.throwIfAborted()
  throw lost(last)
}
