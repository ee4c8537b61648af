// Wakes come on one connection, with a channel for each watched log: with one channel for all, every process would
// get every append of every log. None is missed, only late:
//
// - Before it subscribes, and after its connection broke, it gets nothing. So all watchers are woken when it has
// subscribed (again), and twice a second until then.
// - A connection may be dead without an error, and lose messages. So it is pinged twice a second. Answers and
// messages come in order on one connection: an answer proves that all earlier messages have arrived. While an answer
// is missing, the connection counts as broken.
// - Redis disconnects a subscriber that is too slow; then the first rule applies.

import { setTimeout as pause } from 'node:timers/promises'
import type { Wake } from '../../store/log-store.ts'
import { type Client, closeClient, connect, type Server } from './connection.ts'

const PING_MS = 500
/** Pause between two tries to connect, in ms. */
const RETRY_MS = 200

/** The watchers of logs, and the connection that receives their messages. */
export class RedisWatchers {
  readonly #server: Server
  readonly #watchers = new Map<string, Set<Wake>>()
  /** Subscriptions without an answer yet. */
  readonly #unanswered = new Map<string, Promise<unknown>>()
  readonly #closing = new AbortController()
  #client: Client | undefined
  #listening: Promise<void> | undefined
  #end = (): void => {}
  /** When the unanswered ping was sent. */
  #pingSentAt: number | undefined
  readonly #onMessage = (message: string, channel: string): void =>
    this.#wake(this.#watchers.get(channel), headOf(message))

  constructor(server: Server) {
    this.#server = server
  }

  /** Calls `wake` for every message on the channel, with the head that it names, and when one may have been missed. */
  watch(channel: string, wake: Wake): () => void {
    if (this.#closing.signal.aborted) return () => {}
    const listener: Wake = head => wake(head)
    const watchers = this.#watchers.get(channel)
    if (watchers) {
      watchers.add(listener)
    } else {
      this.#watchers.set(channel, new Set([listener]))
      if (this.#client) void this.#subscribe(this.#client, [channel])
    }
    this.#listening ??= this.#listen()
    return () => this.#stop(channel, listener)
  }

  /** Wakes all watchers for the last time, and closes the connection. */
  async close(): Promise<void> {
    const all = [...this.#watchers.values()]
    this.#watchers.clear()
    this.#closing.abort()
    this.#end()
    for (const watchers of all) this.#wake([...watchers])
    await this.#listening
  }

  #stop(channel: string, listener: Wake): void {
    const watchers = this.#watchers.get(channel)
    if (!watchers?.delete(listener) || watchers.size > 0) return
    this.#watchers.delete(channel)
    if (this.#client) void this.#unsubscribe(this.#client, channel)
  }

  /** Listens until closed. A broken connection is replaced; its subscriptions are made again. */
  async #listen(): Promise<void> {
    const { signal } = this.#closing
    const pingTimer = setInterval(() => this.#ping(), PING_MS).unref()
    while (!signal.aborted) {
      await this.#session().catch(() => {})
      this.#client = this.#pingSentAt = undefined
      await pause(RETRY_MS, undefined, { signal, ref: false }).catch(() => {})
    }
    clearInterval(pingTimer)
  }

  /** Listens for as long as one connection lasts. */
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
    await closeClient(client, this.#server)
  }

  async #subscribe(client: Client, channels: string[]): Promise<void> {
    if (channels.length === 0) return
    let answer: Promise<unknown> | undefined
    try {
      answer = client.subscribe(channels, this.#onMessage)
      for (const channel of channels) this.#unanswered.set(channel, answer)
      await answer
      for (const channel of channels) this.#wake(this.#watchers.get(channel))
    } catch {
      // Rejected or disconnected: treated as a broken connection.
      client.destroy()
    } finally {
      for (const channel of channels) {
        if (this.#unanswered.get(channel) === answer) this.#unanswered.delete(channel)
      }
    }
  }

  /**
   * Waits for the answer to the subscription: before it the client does not know the channel, and afterwards would
   * treat it as subscribed although an unsubscribe is in flight. The next watcher would then get no messages.
   */
  async #unsubscribe(client: Client, channel: string): Promise<void> {
    await this.#unanswered.get(channel)?.catch(() => {})
    if (this.#client !== client || this.#watchers.has(channel)) return
    await client.unsubscribe(channel, this.#onMessage).catch(() => {})
  }

  #ping(): void {
    if (this.#watchers.size === 0) return
    const client = this.#client
    if (client === undefined || this.#pingSentAt !== undefined) {
      for (const watchers of this.#watchers.values()) this.#wake(watchers)
      if (this.#pingSentAt !== undefined && performance.now() - this.#pingSentAt > this.#server.timeoutMs)
        client?.destroy()
      return
    }
    this.#pingSentAt = performance.now()
    client.ping().then(
      () => {
        if (this.#client === client) this.#pingSentAt = undefined
      },
      () => client.destroy(),
    )
  }

  #wake(watchers: Iterable<Wake> = [], head?: number): void {
    for (const wake of watchers) wake(head)
  }
}

/** The head in the message of an append. Other changes, and appends by earlier releases, have an empty message. */
const headOf = (message: string): number | undefined => (/^\d+$/.test(message) ? Number(message) : undefined)
