import type { Wake } from '../../store/log-store.ts'
import { tokenOf } from './name.ts'

const POLL_MS = 1_000

interface WatchedStream {
  readonly token: string
  readonly wakes: Set<Wake>
  /** The log's stamp at the last poll; undefined before the first. */
  stamp: string | undefined
}

export interface WatchersOptions {
  /** A stamp for each log, which differs after every change. Missing logs have none. */
  stampsOf(streamIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** The first watcher was added. Returns the function to call when there are none left. */
  start(): () => void
}

/**
 * The watchers of logs. Every second one statement polls all of them, so that a lost notification is late and never
 * missed. A log without an earlier poll counts as changed.
 */
export class PostgresWatchers {
  readonly #options: WatchersOptions
  readonly #watched = new Map<string, WatchedStream>()
  readonly #byToken = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #end: (() => void) | undefined
  #isPolling = false
  #mustRepeat = false

  constructor(options: WatchersOptions) {
    this.#options = options
  }

  watch(streamId: string, wake: Wake): () => void {
    const watched = this.#watched.get(streamId) ?? this.#add(streamId)
    const listener: Wake = head => wake(head)
    watched.wakes.add(listener)
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#tick(), POLL_MS).unref()
      this.#end = this.#options.start()
    }
    return () => {
      if (!watched.wakes.delete(listener) || watched.wakes.size > 0) return
      this.#watched.delete(streamId)
      this.#byToken.delete(watched.token)
    }
  }

  #add(streamId: string): WatchedStream {
    const watched: WatchedStream = { token: tokenOf(streamId), wakes: new Set(), stamp: undefined }
    this.#watched.set(streamId, watched)
    this.#byToken.set(watched.token, streamId)
    return watched
  }

  /** A log was changed by this process. `head` is the last sequence of an append. */
  wake(streamId: string, head?: number): void {
    for (const wake of this.#watched.get(streamId)?.wakes ?? []) wake(head)
  }

  /** Logs were changed by another process. */
  wakeTokens(tokens: readonly string[]): void {
    for (const token of tokens) {
      const streamId = this.#byToken.get(token)
      if (streamId !== undefined) this.wake(streamId)
    }
  }

  // The connection is kept for up to a second without watchers.
  #tick(): void {
    if (this.#watched.size === 0) this.#stopTimer()
    else void this.poll()
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#end?.()
    this.#end = undefined
  }

  /** Polls all logs, and wakes the watchers of those that changed. */
  async poll(): Promise<void> {
    this.#mustRepeat = true
    if (this.#isPolling) return
    this.#isPolling = true
    while (this.#mustRepeat) {
      this.#mustRepeat = false
      const polled = [...this.#watched]
      // If the store does not answer, the next poll tries again.
      const stamps = await this.#options.stampsOf(polled.map(([streamId]) => streamId)).catch(() => undefined)
      if (stamps) for (const [streamId, watched] of polled) this.#compare(streamId, watched, stamps.get(streamId) ?? '')
    }
    this.#isPolling = false
  }

  #compare(streamId: string, watched: WatchedStream, stamp: string): void {
    if (watched.stamp === stamp || this.#watched.get(streamId) !== watched) return
    watched.stamp = stamp
    this.wake(streamId)
  }

  /** Wakes all watchers for the last time, so that none waits for a closed store. */
  close(): void {
    this.#stopTimer()
    const all = [...this.#watched.keys()]
    for (const streamId of all) this.wake(streamId)
    this.#watched.clear()
    this.#byToken.clear()
  }
}
