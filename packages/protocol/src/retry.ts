// Retries with exponential backoff, for requests and for connections.

/** The delays of an exponential backoff. */
export interface Backoff {
  /** Delay before the first retry, in ms. Each further delay is twice as long. */
  readonly firstMs: number
  /** Upper bound of a delay, in ms. */
  readonly longestMs: number
}

/** Options of a retry delay. The delays have the defaults of `BACKOFF`. */
export interface RetryOptions extends Partial<Backoff> {
  /** Retries without progress before giving up. @default Infinity */
  readonly attempts?: number | undefined
  /** A connection that lasts this long is stable: the next delay is short again. In ms. @default 0 */
  readonly stableMs?: number | undefined
}

/** The maximum number of doublings for connections that make progress but drop early. */
const MAX_UNSTABLE_DOUBLINGS = 4

/**
 * Counts attempts and delays each retry, with jitter: between half of the delay and the full delay. Only progress resets the count, so
 * retries end for a server that never makes progress. A connection that makes progress and drops early is still delayed.
 */
export class RetryDelay {
  readonly #options: RetryOptions
  #failures = 0
  #unstable = 0
  #triedAt = Date.now()
  #endWait: ((isNext: boolean) => void) | undefined

  constructor(options: RetryOptions = {}) {
    this.#options = options
  }

  /** Number of retries since the last progress. */
  get failures(): number {
    return this.#failures
  }

  /** Resets the count: something new arrived. */
  progressed(): void {
    this.#failures = 0
  }

  /** Whether the current connection, or the last one, has been open for `stableMs`. */
  get isStable(): boolean {
    return Date.now() - this.#triedAt >= (this.#options.stableMs ?? 0)
  }

  /** Waits for the next attempt, `minDelayMs` or longer. False when there is none: too many attempts, an abort, `cancel`, or another `wait`. */
  async wait(minDelayMs = 0, signal?: AbortSignal | null): Promise<boolean> {
    this.cancel()
    if (this.#failures >= (this.#options.attempts ?? Infinity) || signal?.aborted) return false
    this.#unstable = this.isStable ? 1 : this.#unstable + 1
    const maxDelayMs = backoffMs(
      this.#options,
      Math.max(this.#failures++, Math.min(this.#unstable, MAX_UNSTABLE_DOUBLINGS) - 1),
    )
    const isNext = await this.#sleep(Math.max(minDelayMs, (maxDelayMs * (1 + Math.random())) / 2), signal)
    this.#triedAt = Date.now()
    return isNext
  }

  /** Ends the current wait: the next attempt begins now. */
  wake(): void {
    this.#endWait?.(true)
  }

  /** Ends the current wait without another attempt. */
  cancel(): void {
    this.#endWait?.(false)
  }

  #sleep(ms: number, signal: AbortSignal | null | undefined): Promise<boolean> {
    return new Promise(resolve => {
      const abort = () => this.cancel()
      const timer = setTimeout(() => this.wake(), ms)
      signal?.addEventListener('abort', abort)
      this.#endWait = isNext => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        this.#endWait = undefined
        resolve(isNext)
      }
    })
  }
}

/**
 * Repeats an attempt until it succeeds. `delayAfter` gets each error and returns the minimum delay before the next attempt, in ms, or
 * false for an error that is not retried.
 * @throws the last error, if there is no next attempt.
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
      const minDelayMs = delayAfter(error)
      if (minDelayMs === false || !(await delay.wait(minDelayMs, signal))) throw error
    }
  }
}

/**
 * Reads one stream over as many connections as needed. `connect` yields the items of one connection, returns true when the stream is
 * complete, and returns false or throws when the connection drops.
 * @throws the error of `connect` if `isFinal`, the abort reason, or `lost()` if there is no next attempt.
 */
export async function* reconnecting<T>(
  connect: () => AsyncGenerator<T, boolean, undefined>,
  delay: RetryDelay,
  isFinal: (error: unknown) => boolean,
  lost: (error: unknown) => unknown,
  signal?: AbortSignal | null,
): AsyncGenerator<T, void, undefined> {
  let lastError: unknown
  do {
    try {
      if (yield* connect()) return
      lastError = undefined
    } catch (error) {
      signal?.throwIfAborted()
      if (isFinal(error)) throw error
      lastError = error
    }
  } while (await delay.wait(0, signal))
  signal?.throwIfAborted()
  throw lost(lastError)
}

/** The default delays between the attempts of a client to reach its server. */
export const BACKOFF: Backoff = { firstMs: 250, longestMs: 10_000 }

/** The delay after a number of earlier retries, in ms. Without jitter. The delays have the defaults of `BACKOFF`. */
export const backoffMs = (
  { firstMs = BACKOFF.firstMs, longestMs = BACKOFF.longestMs }: Partial<Backoff>,
  retries: number,
): number => Math.min(longestMs, firstMs * 2 ** retries)
