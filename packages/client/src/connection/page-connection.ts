import type { Connection, ConnectionStatus, Entry, Snapshot, Subscriber, Subscription } from '@millrace/protocol'
import type { Backoff } from '@millrace/protocol/retry'
import { Listeners } from '../notify/listeners.ts'
import { Api, type ApiOptions, BACKOFF } from './api.ts'
import { type EntryIterator, iterateEntries } from './entry-iterator.ts'
import { type ConnectionContext, FollowedSession } from './followed-session.ts'
import { MultiplexedStream } from './multiplexed-stream.ts'

export interface ConnectionOptions extends ApiOptions {
  /** The sessions that a loop over the connection is about. */
  readonly session?: string | readonly string[] | undefined
  /** After which cursor the loop begins, for all or by the name of the session; at the beginning, if nothing is said. */
  readonly after?: string | { readonly [sessionId: string]: string }
  /** Told where the loop goes on from, where the place it was at is not in the log any more; without it the loop throws then. */
  readonly onSnapshot?: (snapshot: Snapshot, sessionId: string) => void
  readonly backoff?: Partial<Backoff>
  /** Every entry as it was written, by itself, and what was taken back too: for who inspects a session. */
  readonly whole?: boolean
}

/** An entry, the session that it is of, and behind the last entry of a frame the `cursor` after which the next loop would go on. */
export type SessionEntry = Entry & { readonly sessionId: string; readonly cursor?: string | undefined }

/** What a chat needs of a connection: ours to a server, or one to another system's, as `@millrace/dialects` has them. */
export interface ChatConnection extends Connection {
  readonly api: Pick<Api, 'ask' | 'read'>
  /** Whether its sessions are the page's alone, so that nobody finds one again by the name that it was given here. */
  readonly isOfPage?: boolean
  /** Comes back at once, wherever it waits. */
  wake(): void
}

/** One connection for all sessions of a page: it comes back by itself, and gives every entry once and in order. */
export class PageConnection implements ChatConnection, AsyncIterable<SessionEntry> {
  readonly api: Api
  readonly #options: ConnectionOptions
  readonly #home: ConnectionContext
  readonly #followed = new Set<FollowedSession>()
  readonly #listeners = new Listeners()
  #isListening = false

  constructor(options: ConnectionOptions = {}) {
    this.#options = options
    this.api = new Api(options)
    this.#home = this.#homeOf()
  }

  #homeOf(onLeft?: () => void): ConnectionContext {
    const home: ConnectionContext = {
      api: this.api,
      backoff: { ...BACKOFF, ...this.#options.backoff },
      query: this.#options.whole ? '&whole=true' : '',
      streamFor: followed => {
        for (const { stream } of this.#followed) if (stream?.home === home && stream.hasRoom(followed)) return stream
        return new MultiplexedStream(home)
      },
      left: followed => {
        this.#followed.delete(followed)
        if (this.#followed.size === 0) this.#listen(false)
        home.changed()
        onLeft?.()
      },
      changed: () => this.#listeners.tell(CHANGE, ''),
    }
    return home
  }

  follow(sessionId: string, follower: Subscriber, after?: string): Subscription {
    return this.#follow(this.#home, sessionId, follower, after)
  }

  #follow(home: ConnectionContext, sessionId: string, follower: Subscriber, after?: string): Subscription {
    const followed = new FollowedSession(sessionId, follower, after, home)
    this.#listen(true)
    this.#followed.add(followed)
    followed.start()
    return followed
  }

  /** How many sessions are followed. */
  get size(): number {
    return this.#followed.size
  }

  /** How it stands with the session that is worst off, and why. */
  get state(): { readonly status: ConnectionStatus; readonly reason: string } {
    const rank = (one: FollowedSession) => ORDER.indexOf(one.status)
    const [worst] = [...this.#followed].sort((a, b) => rank(a) - rank(b))
    const { status, reason } = worst ?? NOBODY
    return { status, reason }
  }

  /** Calls when how it stands with a session has changed. */
  subscribe(listener: () => void): () => void {
    return this.#listeners.add(CHANGE, '', listener)
  }

  /** Comes back at once, wherever it waits. */
  readonly wake = (): void => {
    for (const one of this.#followed) one.wake()
  }

  /** Leaves all sessions, at once; loops over it end. */
  close(): void {
    for (const one of [...this.#followed]) one.close()
  }

  /** The entries of its sessions, as they come, until the loop is left; throws where one cannot be followed. */
  [Symbol.asyncIterator](): EntryIterator {
    // Who takes its time holds up nobody else: a loop has lines of its own.
    const home = this.#homeOf(() => loop.end())
    const loop = iterateEntries(this.#options, (...what) => this.#follow(home, ...what))
    return loop
  }

  /** A tab that is looked at again, or has its network back, need not wait. */
  #listen(isOn: boolean): void {
    if (isOn === this.#isListening) return
    this.#isListening = isOn
    const { document } = globalThis
    const verb = isOn ? 'addEventListener' : 'removeEventListener'
    globalThis[verb]?.('online', this.#online)
    globalThis[verb]?.('pageshow', this.wake)
    document?.[verb]('visibilitychange', this.#seen)
  }

  /** What was open belongs to the network that went away, whether or not anybody has noticed. */
  readonly #online = (): void => {
    this.wake()
    for (const { stream } of this.#followed) stream?.renew('the network is back')
  }

  readonly #seen = (): void => {
    if (document.visibilityState === 'visible') this.wake()
  }
}

const CHANGE = 'change'
const NOBODY = { status: 'idle', reason: 'nobody follows' } as const
const ORDER: readonly ConnectionStatus[] = ['offline', 'connecting', 'catching-up', 'live', 'idle']

/** A connection to a server, for all sessions of a page. */
export const createConnection = (options?: ConnectionOptions): PageConnection => new PageConnection(options)
