import type { Connection, ConnectionStatus, Entry, Snapshot, Subscriber, Subscription } from '@millrace/protocol'
import type { Backoff } from '@millrace/protocol/retry'
import { Listeners } from '../notify/listeners.ts'
import { Api, type ApiOptions } from './api.ts'
import { type EntryIterator, iterateEntries } from './entry-iterator.ts'
import { type ConnectionContext, FollowedSession } from './followed-session.ts'
import { MultiplexedStream } from './multiplexed-stream.ts'

/** Options of `createConnection`. */
export interface ConnectionOptions extends ApiOptions {
  /** Ids of the sessions that a `for await` loop over the connection reads. @default [] */
  readonly session?: string | readonly string[] | undefined
  /** Cursor after which the loop begins, one for all sessions or by session id. @default the start of the log */
  readonly after?: string | { readonly [sessionId: string]: string }
  /** Called with the snapshot from which the loop continues if its position was trimmed from the log. @default the loop throws a `RequestError` */
  readonly onSnapshot?: (snapshot: Snapshot, sessionId: string) => void
  /** Delays before a reconnect, in ms. @default { firstMs: 250, longestMs: 10_000 } */
  readonly backoff?: Partial<Backoff>
  /** Reads every entry as it was written, including discarded and rewound ones, for inspectors. @default false */
  readonly includeDiscarded?: boolean
}

/** An entry with its session. The last entry of a frame has the `cursor` from which another loop can continue. */
export type SessionEntry = Entry & { readonly sessionId: string; readonly cursor?: string | undefined }

/** The connection of a chat: to a Millrace server, or by `@millrace/dialects` to another system's server. */
export interface ChatConnection extends Connection {
  /** Sends the requests of a chat to the server. */
  readonly api: Pick<Api, 'ask' | 'read'>
  /** Whether its sessions exist only in this page: a generated session id is useless after a reload. @default false */
  readonly isOfPage?: boolean
  /** Reconnects now wherever it is waiting to. */
  wake(): void
}

/** One connection for all sessions of a page. Reconnects by itself, and delivers every entry once and in order. */
export class PageConnection implements ChatConnection, AsyncIterable<SessionEntry> {
  /** Sends the requests of this connection to the server. */
  readonly api: Api
  readonly #options: ConnectionOptions
  readonly #context: ConnectionContext
  readonly #followed = new Set<FollowedSession>()
  readonly #listeners = new Listeners()
  #isListening = false

  constructor(options: ConnectionOptions = {}) {
    this.#options = options
    this.api = new Api(options)
    this.#context = this.#createContext()
  }

  #createContext(onClose?: () => void): ConnectionContext {
    const context: ConnectionContext = {
      api: this.api,
      backoff: this.#options.backoff,
      query: this.#options.includeDiscarded ? '&whole=true' : '',
      streamFor: followed => {
        for (const { stream } of this.#followed)
          if (stream?.context === context && stream.hasRoom(followed)) return stream
        return new MultiplexedStream(context)
      },
      closed: followed => {
        this.#followed.delete(followed)
        if (this.#followed.size === 0) this.#listen(false)
        context.changed()
        onClose?.()
      },
      changed: () => this.#listeners.notify(CHANGE, ''),
    }
    return context
  }

  /** Follows a session after a cursor, or from a snapshot without one. Up to 40 sessions share one request. */
  follow(sessionId: string, follower: Subscriber, after?: string): Subscription {
    return this.#follow(this.#context, sessionId, follower, after)
  }

  #follow(context: ConnectionContext, sessionId: string, follower: Subscriber, after?: string): Subscription {
    const followed = new FollowedSession(sessionId, follower, after, context)
    this.#listen(true)
    this.#followed.add(followed)
    followed.start()
    return followed
  }

  /** Number of followed sessions. */
  get size(): number {
    return this.#followed.size
  }

  /** Status of the session that is furthest behind, with its reason. */
  get state(): { readonly status: ConnectionStatus; readonly reason: string } {
    const rank = ({ status }: FollowedSession) => WORST_FIRST.indexOf(status)
    const [worst] = [...this.#followed].sort((a, b) => rank(a) - rank(b))
    const { status, reason } = worst ?? NO_FOLLOWER
    return { status, reason }
  }

  /** Calls the listener when the status of a session changes. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    return this.#listeners.add(CHANGE, '', listener)
  }

  /** Reconnects now wherever it is waiting to. */
  readonly wake = (): void => {
    for (const followed of this.#followed) followed.wake()
  }

  /** Closes all subscriptions, and ends all loops. */
  close(): void {
    for (const followed of [...this.#followed]) followed.close()
  }

  /**
   * Loops over the entries of the sessions in `options.session`.
   * @throws a `RequestError` if a session cannot be followed.
   */
  [Symbol.asyncIterator](): EntryIterator {
    // A loop has its own requests, so that a slow one does not delay other followers.
    const context = this.#createContext(() => loop.end())
    const loop = iterateEntries(this.#options, (...args) => this.#follow(context, ...args))
    return loop
  }

  /** Reconnects at once when the tab becomes visible or the network is back. */
  #listen(isOn: boolean): void {
    if (isOn === this.#isListening) return
    this.#isListening = isOn
    const { document } = globalThis
    const method = isOn ? 'addEventListener' : 'removeEventListener'
    globalThis[method]?.('online', this.#online)
    globalThis[method]?.('pageshow', this.wake)
    document?.[method]('visibilitychange', this.#visible)
  }

  /** Open requests belong to the old network, and may be dead without an error. */
  readonly #online = (): void => {
    this.wake()
    for (const { stream } of this.#followed) stream?.renew('the network is back')
  }

  readonly #visible = (): void => {
    if (document.visibilityState === 'visible') this.wake()
  }
}

const CHANGE = 'change'
const NO_FOLLOWER = { status: 'idle', reason: 'no subscribers' } as const
const WORST_FIRST: readonly ConnectionStatus[] = ['offline', 'connecting', 'catching-up', 'live', 'idle']

/** Creates a connection to a Millrace server, for all sessions of a page. */
export const createConnection = (options?: ConnectionOptions): PageConnection => new PageConnection(options)

/** Identity of a shared connection: options with equal keys share one. Values are compared by content, functions by identity. */
const keyOf = ({ api = '/api', headers, credentials = 'same-origin', fetch }: ApiOptions): readonly unknown[] => [
  api.replace(/\/+$/, ''),
  typeof headers === 'function' ? headers : JSON.stringify([...new Headers(headers)]),
  credentials,
  fetch,
]

let shared: { readonly key: readonly unknown[]; readonly connection: WeakRef<PageConnection> }[] = []

/** The page's connection to a server. Callers with the same options share one, until all of them have dropped it. */
export function sharedConnection(options: ApiOptions): PageConnection {
  const key = keyOf(options)
  shared = shared.filter(({ connection }) => connection.deref())
  const existing = shared.find(other => other.key.every((value, n) => value === key[n]))?.connection.deref()
  if (existing) return existing
  const { api, headers, credentials, fetch } = options
  const connection = createConnection({ api, headers, credentials, fetch } as ApiOptions)
  shared.push({ key, connection: new WeakRef(connection) })
  return connection
}
