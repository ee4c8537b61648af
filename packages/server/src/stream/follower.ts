import { type BatchReader, type StreamManager, TruncatedError } from '@millrace/log'
import { decodeCursor, type Entry, encodeCursor, type Frame } from '@millrace/protocol'
import type { Member } from './feed.ts'
import type { Feeds } from './feeds.ts'
import { bytesOf, EntriesFrame, type Piece } from './format.ts'
import { openFrame } from './open.ts'
import type { Outlet } from './outlet.ts'
import { PAGE_BYTES } from './settings.ts'

export interface FollowOptions {
  readonly sessionId: string
  /** A cursor's token, or a bare sequence. */
  readonly after: string
  /** Whether every frame names its session, because others share the connection. */
  readonly isNamed: boolean
  readonly merge: boolean
  /** Whether it goes on when it has caught up. */
  readonly isLive: boolean
  readonly heartbeatMs: number
}

/** One session on one connection: replay after a place, then live, every entry once (law 2). */
export class Follower implements Member {
  readonly #manager: StreamManager
  readonly #feeds: Feeds
  readonly #outlet: Outlet
  readonly #options: FollowOptions
  #cursor: string
  /** The sequence of the last entries frame; null before the first. */
  #last: number | null = null
  #isPaused = false
  #isCaughtUp = false
  #left: () => void = () => {}

  constructor(manager: StreamManager, feeds: Feeds, outlet: Outlet, options: FollowOptions) {
    this.#manager = manager
    this.#feeds = feeds
    this.#outlet = outlet
    this.#options = options
    this.#cursor = options.after
  }

  /** Follows until the connection is over, the place cannot be proven or, where it is not to go on, all is said; throws what went wrong. */
  async run(): Promise<void> {
    const { sessionId, heartbeatMs } = this.#options
    const { open, info } = await openFrame(this.#manager, sessionId, this.#cursor, heartbeatMs)
    this.#write(open)
    try {
      while (await this.#read()) await this.#outlet.room()
    } catch (error) {
      if (!this.#outlet.isOpen) return
      if (error instanceof TruncatedError) await this.#truncated(error, info.incarnation)
      else throw error
    }
  }

  /** Reads for itself until it has caught up, then is given what comes; true where it fell behind, and has to read on for itself. */
  async #read(): Promise<boolean> {
    const { sessionId, merge, isLive } = this.#options
    const { signal } = this.#outlet
    const after = this.#cursor
    const reader = this.#manager.readBatches(sessionId, { after, follow: true, merge, pageBytes: PAGE_BYTES, signal })
    try {
      for (let piece = await reader.now(); ; piece = await (reader.isCaughtUp ? reader.next() : reader.now())) {
        if (piece) {
          this.#entries(new EntriesFrame(sessionId, piece))
          if (!(await this.#outlet.room())) return false
        }
        if (!reader.isCaughtUp) continue
        this.#caughtUp(reader)
        if (!isLive || !this.#outlet.isOpen) return false
        const left = this.#join()
        if (left === undefined) continue
        reader.close()
        await left
        return this.#outlet.isOpen
      }
    } finally {
      reader.close()
    }
  }

  #caughtUp(reader: BatchReader): void {
    if (this.#isCaughtUp) return
    this.#isCaughtUp = true
    // A bare sequence is proven by now.
    if (reader.place) this.#cursor = encodeCursor(reader.place)
    const { sequence } = decodeCursor(this.#cursor)
    this.#write({ type: 'caught-up', ...this.#named, sequence, cursor: this.#cursor })
    this.#tell(reader.status === 'paused')
  }

  /** Joins those who are given what comes, if it is what comes next here; resolves when it has fallen behind or the connection is over. */
  #join(): Promise<void> | undefined {
    const { signal } = this.#outlet
    const left = Promise.withResolvers<void>()
    this.#left = left.resolve
    const leave = this.#feeds.join(this.#options.sessionId, this.#cursor, this)
    if (leave === undefined) return undefined
    const gone = () => {
      leave()
      left.resolve()
    }
    signal.addEventListener('abort', gone, { once: true })
    if (signal.aborted) gone()
    return left.promise.finally(() => signal.removeEventListener('abort', gone))
  }

  deliver(frame: EntriesFrame): boolean {
    if (!this.#outlet.isOpen || this.#outlet.isFull) return false
    this.#entries(frame)
    return true
  }

  left(): void {
    this.#left()
  }

  #entries(frame: EntriesFrame): void {
    const { format } = this.#outlet
    this.#outlet.write(frame.bytes(format, this.#options.isNamed, this.#last))
    this.#last = frame.piece.sequence
    this.#cursor = frame.piece.cursor
    if (this.#isCaughtUp) this.#tell(isPausedAfter(frame.piece, this.#isPaused))
  }

  /** Says that the session waits, or does not any more. */
  #tell(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    this.#write({ type: 'status', ...this.#named, status: isPaused ? 'paused' : 'active' })
  }

  async #truncated({ reason, head, floor }: TruncatedError, was: string): Promise<void> {
    const { sessionId } = this.#options
    const incarnation = (await this.#manager.getInfo(sessionId).catch(() => null))?.incarnation ?? was
    this.#write({ type: 'truncated', ...this.#named, floor, incarnation, reason, head })
  }

  get #named(): { sessionId?: string } {
    return this.#options.isNamed ? { sessionId: this.#options.sessionId } : {}
  }

  #write(frame: Exclude<Frame, { type: 'entries' }>): void {
    this.#outlet.write(bytesOf(frame, this.#outlet.format))
  }
}

/** Whether the session waits after a piece. */
function isPausedAfter({ entries }: Piece, was: boolean): boolean {
  return entries.reduce(
    (is, { chunk: { type } }: Entry) => (type === 'run-paused' ? true : ENDS_PAUSE.has(type) ? false : is),
    was,
  )
}

const ENDS_PAUSE = new Set(['run-resumed', 'run-started', 'run-finished'])
