import type { Connection, ConnectionStatus, Entry, Follower, Following, Snapshot } from '@millrace/protocol'
import { RequestError } from '../error.ts'
import { Topics } from '../store/topics.ts'
import { Api, type ApiOptions } from './api.ts'
import { Followed, type Home } from './followed.ts'
import { Line } from './line.ts'
import { BACKOFF, type Backoff } from './patience.ts'

export interface ConnectionOptions extends ApiOptions {
  /** The sessions that a loop over the connection is about. */
  readonly session?: string | readonly string[] | undefined
  /** After which cursor the loop begins; at the beginning, if nothing is said. */
  readonly after?: string
  /** Told where the loop goes on from, where the place it was at is not in the log any more; without it the loop throws then. */
  readonly onSnapshot?: (snapshot: Snapshot, sessionId: string) => void
  readonly backoff?: Partial<Backoff>
}

/** An entry, and the session that it is of. */
export type SessionEntry = Entry & { readonly sessionId: string }

/** One connection for all sessions of a page: it comes back by itself, and gives every entry once and in order. */
export class PageConnection implements Connection, AsyncIterable<SessionEntry> {
  readonly api: Api
  readonly #options: ConnectionOptions
  readonly #home: Home
  readonly #followed = new Set<Followed>()
  readonly #listeners = new Topics()
  readonly #loops = new Set<() => void>()
  #isListening = false

  constructor(options: ConnectionOptions = {}) {
    this.#options = options
    this.api = new Api(options)
    this.#home = this.#homeOf()
  }

  #homeOf(): Home {
    const home: Home = {
      api: this.api,
      backoff: { ...BACKOFF, ...this.#options.backoff },
      lineFor: followed => {
        for (const { line } of this.#followed) if (line?.hasRoom(followed)) return line
        return new Line(home)
      },
      left: followed => {
        this.#followed.delete(followed)
        if (this.#followed.size === 0) this.#listen(false)
        home.changed()
      },
      changed: () => this.#listeners.tell(CHANGE, ''),
    }
    return home
  }

  follow(sessionId: string, follower: Follower, after?: string): Following {
    const followed = new Followed(sessionId, follower, after, this.#home)
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
    let worst: { readonly status: ConnectionStatus; readonly reason: string } | undefined
    for (const one of this.#followed) {
      if (worst === undefined || ORDER.indexOf(one.status) < ORDER.indexOf(worst.status)) worst = one
    }
    return worst ? { status: worst.status, reason: worst.reason } : { status: 'idle', reason: 'nobody follows' }
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
    for (const end of this.#loops) end()
  }

  /** The entries of its sessions, as they come, until the loop is left; throws where one cannot be followed. */
  async *[Symbol.asyncIterator](): AsyncGenerator<SessionEntry, void> {
    const { session = [], after = '0', onSnapshot } = this.#options
    const sessions = typeof session === 'string' ? [session] : session
    const pieces: { sessionId: string; taken: () => void; entries?: readonly Entry[]; snapshot?: Snapshot }[] = []
    let failure: unknown
    let isOver = false
    let wake = () => {}
    const end = () => {
      isOver = true
      wake()
    }
    this.#loops.add(end)
    const followings = sessions.map(sessionId =>
      this.follow(
        sessionId,
        {
          snapshot: snapshot => {
            const message = `${sessionId}: the log does not hold this place`
            if (!onSnapshot) throw new RequestError({ code: 'truncated', message })
            // In its place: what came before it may not have been taken yet.
            pieces.push({ snapshot, sessionId, taken: () => {} })
            wake()
          },
          // Nothing more is read before it is taken: a slow loop slows the connection down, and fills no memory.
          entries: entries =>
            new Promise(taken => {
              pieces.push({ entries, sessionId, taken })
              wake()
            }),
          fail: error => {
            failure = error
            wake()
          },
        },
        after,
      ),
    )
    try {
      while (!isOver) {
        const [piece] = pieces
        if (piece) {
          const { sessionId, snapshot, entries = [] } = piece
          if (snapshot) onSnapshot?.(snapshot, sessionId)
          for (const entry of entries) if (!isOver) yield { ...entry, sessionId }
          pieces.shift()
          piece.taken()
        } else if (failure !== undefined) throw failure
        else {
          await new Promise<void>(resolve => {
            wake = resolve
          })
        }
      }
    } finally {
      this.#loops.delete(end)
      for (const following of followings) following.close()
      // Whoever else is on the line is not held up by one that has gone.
      for (const { taken } of pieces) taken()
    }
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
    for (const { line } of this.#followed) line?.renew('the network is back')
  }

  readonly #seen = (): void => {
    if (document.visibilityState === 'visible') this.wake()
  }
}

const CHANGE = 'change'
const ORDER: readonly ConnectionStatus[] = ['offline', 'connecting', 'catching-up', 'live', 'idle']

/** A connection to a server, for all sessions of a page. */
export const createConnection = (options?: ConnectionOptions): PageConnection => new PageConnection(options)
