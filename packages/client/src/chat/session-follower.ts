import type { ConnectionStatus, Entry, Failure, Snapshot, Subscription } from '@millrace/protocol'
import { RetryDelay } from '@millrace/protocol/retry'
import { BACKOFF } from '../connection/api.ts'
import type { ChatConnection } from '../connection/page-connection.ts'

/** Who wants to know what comes. */
export interface SessionListener {
  /** How many messages are read at once. */
  pageSize(): number
  /** Whether anything of the session was seen. */
  isNew(): boolean
  snapshot(snapshot: Snapshot): void
  /** False where a snapshot is needed to go on from. */
  entries(entries: readonly Entry[], through: number): boolean
  status(status: ConnectionStatus, reason: string): void
  /** It cannot be followed; where there is none, it is looked for again. */
  failed(failure: Failure, isNone: boolean): void
}

/** Follows the session of a chat, from when there may be one, for as long as somebody wants it. */
export class SessionFollower {
  /** Whether there may be a session: one that was just thought of is nobody's to read. */
  isKnown: boolean
  /** What is read next; nothing, where a snapshot is. */
  cursor: string | undefined
  readonly #sessionId: string
  readonly #connection: ChatConnection
  readonly #listener: SessionListener
  #following: Subscription | undefined
  #starts = 0
  /** Whether the server knows no such session; when to look for it again. */
  #isNone = false
  readonly #delay = new RetryDelay(BACKOFF)
  /** Whether the server has taken something for it, of which nothing was seen yet. */
  #isMade = false

  constructor(sessionId: string, isKnown: boolean, connection: ChatConnection, listener: SessionListener) {
    this.#sessionId = sessionId
    this.isKnown = isKnown
    this.#connection = connection
    this.#listener = listener
  }

  get isStarted(): boolean {
    return this.#starts > 0
  }

  get isFollowing(): boolean {
    return this.#following !== undefined
  }

  start(): () => void {
    this.#starts++
    if (this.isKnown) this.#follow()
    let isStarted = true
    return () => {
      if (!isStarted) return
      isStarted = false
      if (--this.#starts === 0) this.#leave()
    }
  }

  #leave(): void {
    this.#delay.cancel()
    // Without one it was about to take a snapshot, and then has to.
    if (this.#following) this.cursor = this.#following.cursor
    this.#following?.close()
    this.#following = undefined
    this.#isNone = false
    this.#listener.status('idle', 'nobody follows')
  }

  #follow(): void {
    if (this.#following || !this.isStarted) return
    const listener = this.#listener
    this.#following = this.#connection.follow(
      this.#sessionId,
      {
        messages: listener.pageSize(),
        snapshot: snapshot => {
          this.#isNone = false
          this.#delay.progressed()
          listener.snapshot(snapshot)
        },
        entries: (entries, through) => {
          if (!listener.entries(entries, through)) this.#following?.refresh()
        },
        status: (status, reason) => {
          // That it is looked for again is no news.
          if (!this.#isNone) listener.status(status, reason)
        },
        fail: failure => this.#failed(failure),
      },
      this.cursor,
    )
  }

  /** Follows from where it is; of a session that was just made, everything is news. */
  #anew(): void {
    if (this.#isMade) this.cursor ??= '0'
    this.#isNone = this.#isMade = false
    this.#following?.close()
    this.#following = undefined
    this.#follow()
  }

  /** Something was said there, or may have been: nobody need wait. */
  followNow(isSure: boolean): void {
    const isNew = this.#listener.isNew()
    this.isKnown = true
    this.#isMade = isSure && isNew
    if (this.#isNone || !this.#following) this.#anew()
    // Another chat of the page may look for it.
    if (isNew) this.#connection.wake()
    else this.#following?.wake()
  }

  #failed(failure: Failure): void {
    const isNone = failure.code === 'session_unknown' && this.#listener.isNew()
    if (isNone && this.#isMade) {
      // It may have been made since.
      this.#anew()
      return
    }
    if (isNone) {
      if (!this.#isNone) this.#listener.status('idle', 'nobody has said anything yet')
      void this.#delay.wait().then(isNext => isNext && this.#following?.refresh())
    }
    this.#isNone = isNone
    this.#listener.failed(failure, isNone)
  }
}
