// Wake-ups come on one connection, a channel for each log that is watched: with one channel for all, every process would be sent every append of
// every log. None is missed, only late:
//
// - Before it listens, and when its connection broke, it cannot hear. So everybody is woken once it listens (again), and twice a second until then.
// - A connection may be dead without a word, and what is sent on it lost. So it is asked twice a second. Answers and wake-ups come on one ordered
//   connection: an answer proves that all that was published before it has been heard. As long as one is missing, it counts as broken.
// - A subscriber that is too slow is cut off by Redis, and then the first applies.

import { setTimeout as pause } from 'node:timers/promises'
import { type Client, connect, letGo, type Server } from './connection.ts'

const ASK_MS = 500
/** Between two tries to connect. */
const RETRY_MS = 200

/** Who watches which log, and the connection that hears of appends. */
export class RedisWatchers {
  readonly #server: Server
  readonly #watchers = new Map<string, Set<() => void>>()
  /** Subscriptions that have no answer yet. */
  readonly #unanswered = new Map<string, Promise<unknown>>()
  readonly #closing = new AbortController()
  #client: Client | undefined
  #listening: Promise<void> | undefined
  #end = (): void => {}
  /** When the question was asked that has no answer yet. */
  #asked: number | undefined
  readonly #hear = (_: string, channel: string): void => this.#wake(this.#watchers.get(channel))

  constructor(server: Server) {
    this.#server = server
  }

  /** Calls `wake` whenever something is published on the channel, and when that may have been missed. */
  watch(channel: string, wake: () => void): () => void {
    if (this.#closing.signal.aborted) return () => {}
    const own = () => wake()
    const watchers = this.#watchers.get(channel)
    if (watchers) {
      watchers.add(own)
    } else {
      this.#watchers.set(channel, new Set([own]))
      if (this.#client) void this.#subscribe(this.#client, [channel])
    }
    this.#listening ??= this.#listen()
    return () => this.#stop(channel, own)
  }

  /** Wakes everybody for the last time, and lets the connection go. */
  async close(): Promise<void> {
    const all = [...this.#watchers.values()]
    this.#watchers.clear()
    this.#closing.abort()
    this.#end()
    for (const watchers of all) this.#wake([...watchers])
    await this.#listening
  }

  #stop(channel: string, own: () => void): void {
    const watchers = this.#watchers.get(channel)
    if (!watchers?.delete(own) || watchers.size > 0) return
    this.#watchers.delete(channel)
    if (this.#client) void this.#unsubscribe(this.#client, channel)
  }

  /** Listens until it is closed. A connection that broke is replaced by another: what it had subscribed to died with it. */
  async #listen(): Promise<void> {
    const { signal } = this.#closing
    const asking = setInterval(() => this.#ask(), ASK_MS).unref()
    while (!signal.aborted) {
      await this.#session().catch(() => {})
      this.#client = this.#asked = undefined
      await pause(RETRY_MS, undefined, { signal, ref: false }).catch(() => {})
    }
    clearInterval(asking)
  }

  /** Listens as long as one connection lasts. */
  async #session(): Promise<void> {
    let end = () => {}
    const ended = new Promise<void>(resolve => {
      end = resolve
    })
    const client = await connect(this.#server, end)
    this.#end = end
    if (!this.#closing.signal.aborted) {
      this.#client = client
      void this.#subscribe(client, [...this.#watchers.keys()])
      await ended
    }
    await letGo(client, this.#server)
  }

  async #subscribe(client: Client, channels: string[]): Promise<void> {
    if (channels.length === 0) return
    let answer: Promise<unknown> | undefined
    try {
      answer = client.subscribe(channels, this.#hear)
      for (const channel of channels) this.#unanswered.set(channel, answer)
      await answer
      for (const channel of channels) this.#wake(this.#watchers.get(channel))
    } catch {
      // Refused or cut off: as good as no connection.
      client.destroy()
    } finally {
      for (const channel of channels) {
        if (this.#unanswered.get(channel) === answer) this.#unanswered.delete(channel)
      }
    }
  }

  /**
   * Not before the subscription is answered: the client does not know the channel until then, and would take it for subscribed afterwards, also
   * when the end is under way. Who watched next would hear nothing.
   */
  async #unsubscribe(client: Client, channel: string): Promise<void> {
    await this.#unanswered.get(channel)?.catch(() => {})
    if (this.#client !== client || this.#watchers.has(channel)) return
    await client.unsubscribe(channel, this.#hear).catch(() => {})
  }

  #ask(): void {
    if (this.#watchers.size === 0) return
    const client = this.#client
    if (client === undefined || this.#asked !== undefined) {
      for (const watchers of this.#watchers.values()) this.#wake(watchers)
      if (this.#asked !== undefined && performance.now() - this.#asked > this.#server.timeout) client?.destroy()
      return
    }
    this.#asked = performance.now()
    client.ping().then(
      () => {
        if (this.#client === client) this.#asked = undefined
      },
      () => client.destroy(),
    )
  }

  #wake(watchers: Iterable<() => void> = []): void {
    for (const wake of watchers) wake()
  }
}
