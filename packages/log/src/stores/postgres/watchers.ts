import { tokenOf } from './name.ts'

const LOOK_MS = 1_000

interface WatchedStream {
  readonly token: string
  readonly wakes: Set<() => void>
  /** What the log looked like at the last look; undefined before the first. */
  stamp: string | undefined
}

export interface WatchersOptions {
  /** What logs look like: another text after every change. A log that is not there has none. */
  look(streamIds: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Somebody watches; gives what to call when nobody does any more. */
  begin(): () => void
}

/**
 * Who waits for which log. Every second one statement looks at all of them, so that a wake-up that was lost on its way is late, never missed;
 * a log that was not looked at before counts as changed, since nobody knows what happened to it meanwhile.
 */
export class PostgresWatchers {
  readonly #options: WatchersOptions
  readonly #watched = new Map<string, WatchedStream>()
  readonly #byToken = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #end: (() => void) | undefined
  #looking = false
  #again = false

  constructor(options: WatchersOptions) {
    this.#options = options
  }

  watch(streamId: string, wake: () => void): () => void {
    const watched = this.#watched.get(streamId) ?? this.#add(streamId)
    const own = () => wake()
    watched.wakes.add(own)
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#tick(), LOOK_MS).unref()
      this.#end = this.#options.begin()
    }
    return () => {
      if (!watched.wakes.delete(own) || watched.wakes.size > 0) return
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

  /** A log changed, as this process knows. */
  wake(streamId: string): void {
    for (const wake of this.#watched.get(streamId)?.wakes ?? []) wake()
  }

  /** Logs changed, as another process says. */
  wakeTokens(tokens: readonly string[]): void {
    for (const token of tokens) {
      const streamId = this.#byToken.get(token)
      if (streamId !== undefined) this.wake(streamId)
    }
  }

  // Who comes back within a second finds the connection still there.
  #tick(): void {
    if (this.#watched.size === 0) this.#rest()
    else void this.look()
  }

  #rest(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#end?.()
    this.#end = undefined
  }

  /** Looks at all logs, and wakes who watches one that changed. */
  async look(): Promise<void> {
    this.#again = true
    if (this.#looking) return
    this.#looking = true
    while (this.#again) {
      this.#again = false
      const asked = [...this.#watched]
      // A store that does not answer now has nothing new to show either; the next look comes.
      const stamps = await this.#options.look(asked.map(([streamId]) => streamId)).catch(() => undefined)
      if (stamps) for (const [streamId, watched] of asked) this.#compare(streamId, watched, stamps.get(streamId) ?? '')
    }
    this.#looking = false
  }

  #compare(streamId: string, watched: WatchedStream, stamp: string): void {
    if (watched.stamp === stamp || this.#watched.get(streamId) !== watched) return
    watched.stamp = stamp
    this.wake(streamId)
  }

  /** Wakes everybody for the last time, so that nobody waits for a store that was closed. */
  close(): void {
    this.#rest()
    const all = [...this.#watched.keys()]
    for (const streamId of all) this.wake(streamId)
    this.#watched.clear()
    this.#byToken.clear()
  }
}
