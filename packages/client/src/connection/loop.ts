import type { Entry, Follower, Following, Snapshot } from '@millrace/protocol'
import { failureOf, RequestError } from '../error.ts'
import type { ConnectionOptions, SessionEntry } from './connection.ts'

/** What came of a session, and has not been taken yet. */
interface Piece {
  readonly sessionId: string
  readonly entries: readonly Entry[]
  readonly cursor?: string | undefined
  readonly snapshot?: Snapshot
  taken(): void
}

type Follow = (sessionId: string, follower: Follower, after: string) => Following

/** The entries of some sessions, as they come. Nothing more is read before they are taken: a slow loop slows its line down, and fills no memory. */
export class Loop implements AsyncIterableIterator<SessionEntry, void> {
  readonly #options: ConnectionOptions
  readonly #follow: Follow
  readonly #pieces: Piece[] = []
  /** How many entries of the first piece were given. */
  #given = 0
  readonly #followings: Following[] = []
  #failure: RequestError | undefined
  #hasBegun = false
  #isOver = false
  #wakes: (() => void)[] = []

  constructor(options: ConnectionOptions, follow: Follow) {
    this.#options = options
    this.#follow = follow
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<SessionEntry, void>> {
    try {
      this.#begin()
      while (!this.#isOver) {
        const value = this.#take()
        if (value) return { done: false, value }
        if (this.#failure) throw this.#failure
        await new Promise<void>(resolve => this.#wakes.push(resolve))
      }
      return OVER
    } catch (error) {
      this.end()
      throw error
    }
  }

  /** Leaves, at once: whoever waits for the next is told that there is none. */
  async return(): Promise<IteratorResult<SessionEntry, void>> {
    this.end()
    return OVER
  }

  end(): void {
    this.#isOver = true
    for (const following of this.#followings.splice(0)) following.close()
    for (const { taken } of this.#pieces.splice(0)) taken()
    this.#wake()
  }

  /** The next entry of what has come. */
  #take(): SessionEntry | undefined {
    for (let piece = this.#pieces[0]; piece; piece = this.#pieces[0]) {
      const { sessionId, entries, cursor, snapshot } = piece
      const entry = entries[this.#given++]
      // A frame counts whole: in the middle of one there is no place to go on from.
      if (entry) return { ...entry, sessionId, ...(this.#given === entries.length && { cursor }) }
      this.#given = 0
      this.#pieces.shift()
      if (snapshot) this.#options.onSnapshot?.(snapshot, sessionId)
      piece.taken()
    }
    return undefined
  }

  #begin(): void {
    if (this.#hasBegun || this.#isOver) return
    this.#hasBegun = true
    const { session = [], after = {}, onSnapshot } = this.#options
    for (const sessionId of typeof session === 'string' ? [session] : session) {
      const own = typeof after === 'string' ? after : Object.hasOwn(after, sessionId) && after[sessionId]
      const add = (piece: Omit<Piece, 'sessionId'>) => {
        this.#pieces.push({ ...piece, sessionId })
        this.#wake()
      }
      const follower: Follower = {
        snapshot: snapshot => {
          const message = `${sessionId}: the log does not hold this place`
          if (!onSnapshot) throw new RequestError({ code: 'truncated', message })
          // In its place: what came before it may not have been taken yet.
          add({ snapshot, entries: [], taken() {} })
        },
        entries: entries => new Promise(taken => add({ entries, cursor: following.cursor, taken })),
        fail: failure => {
          this.#failure ??= failureOf(failure)
          this.#wake()
        },
      }
      const following = this.#follow(sessionId, follower, own || '0')
      this.#followings.push(following)
    }
  }

  #wake(): void {
    for (const wake of this.#wakes.splice(0)) wake()
  }
}

const OVER = { done: true, value: undefined } as const
