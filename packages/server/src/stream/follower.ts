import type { StreamManager } from '@millrace/log'
import type { BatchReader, LiveSubscriber, ReadBatch } from '@millrace/log/internal'
import { decodeCursor, encodeCursor, type Frame } from '@millrace/protocol'
import type { SessionIdentity } from '../sessions/session-access.ts'
import { assertIncarnation, openFrame, truncatedFrame } from './control-frames.ts'
import { bytesOf, entriesFrameOf } from './format.ts'
import type { StreamChannel } from './stream-channel.ts'
import { PAGE_BYTES } from './stream-settings.ts'

export interface FollowOptions {
  readonly sessionId: string
  readonly identity: SessionIdentity
  /** A cursor's token, or a bare sequence. */
  readonly after: string
  /** Whether every frame names its session, because others share the connection. */
  readonly isNamed: boolean
  readonly merge: boolean
  /** Whether what was discarded before is told, too. */
  readonly whole: boolean
  /** Whether it goes on when it has caught up. */
  readonly isLive: boolean
  readonly heartbeatMs: number
}

/** One session on one connection: replay after a place, then live, every entry once (law 2). */
export class Follower implements LiveSubscriber {
  readonly #manager: StreamManager
  readonly #channel: StreamChannel
  readonly #options: FollowOptions
  #isStopped = false
  /** Lets go of what it reads from, for when nothing more is to be said of this session here. */
  #letGo: () => void = () => {}
  #cursor: string
  /** The sequence of the last entries frame; null before the first. */
  #last: number | null = null
  /** As it was told last. */
  #isPaused: boolean | undefined
  #isCaughtUp = false
  #dropped: () => void = () => {}

  constructor(manager: StreamManager, channel: StreamChannel, options: FollowOptions) {
    this.#manager = manager
    this.#channel = channel
    this.#options = options
    this.#cursor = options.after
  }

  /** Follows until the connection is over, the place cannot be proven or, where it is not to go on, all is said; throws what went wrong. */
  async run(): Promise<void> {
    const { sessionId, identity, heartbeatMs } = this.#options
    const { signal } = this.#channel
    const over = () => this.#letGo()
    signal.addEventListener('abort', over, { once: true })
    try {
      const open = await openFrame(this.#manager, sessionId, identity, this.#cursor, heartbeatMs)
      this.#cursor = open.cursor
      this.#write(open)
      while (await this.#read());
    } catch (error) {
      if (!this.#isOpen) return
      this.#write({ ...(await truncatedFrame(this.#manager, sessionId, identity, error)), ...this.#named })
    } finally {
      signal.removeEventListener('abort', over)
    }
  }

  /** Says nothing more of this session, whatever comes. */
  stop(): void {
    this.#isStopped = true
    this.#letGo()
  }

  get #isOpen(): boolean {
    return !this.#isStopped && this.#channel.isOpen
  }

  /** Reads for itself until it has caught up, then is given what comes; true where it fell behind, and has to read on for itself. */
  async #read(): Promise<boolean> {
    const { sessionId, identity, merge, whole, isLive } = this.#options
    const after = this.#cursor
    // Who has caught up once is told of discards, as everybody who is live is, and what they took back need not be looked for.
    // A rewind is for everybody who folds: the runs that it took back, and what they used, stay.
    const how = { follow: true, merge, whole: whole || this.#isCaughtUp, rewound: true, pageBytes: PAGE_BYTES }
    const reader = this.#manager.readBatches(sessionId, { after, ...how })
    this.#letGo = () => reader.close()
    try {
      while (this.#isOpen) {
        if (!reader.isCaughtUp) {
          await this.#channel.turn(async () => {
            const piece = await reader.now()
            assertIncarnation(identity, reader.place)
            this.#take(piece)
          })
          continue
        }
        this.#caughtUp(reader)
        if (!isLive) return false
        const dropped = this.#join(reader)
        if (dropped !== undefined) {
          await dropped
          return this.#isOpen
        }
        this.#take(await reader.next())
        await this.#channel.room()
      }
      return false
    } finally {
      reader.close()
    }
  }

  #take(piece: ReadBatch | undefined): void {
    if (piece && this.#isOpen) this.#entries(piece)
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

  /** Subscribes to the live end, if it begins at this place. Resolves when this follower has fallen behind or is over. */
  #join(reader: BatchReader): Promise<void> | undefined {
    const dropped = Promise.withResolvers<void>()
    this.#dropped = dropped.resolve
    const unsubscribe = reader.subscribe(this)
    if (unsubscribe === undefined) return undefined
    this.#letGo = () => {
      unsubscribe()
      dropped.resolve()
    }
    return dropped.promise
  }

  deliver(piece: ReadBatch): boolean {
    if (!this.#isOpen || this.#channel.isFull) return false
    this.#entries(piece)
    return true
  }

  dropped(): void {
    this.#dropped()
  }

  #entries(piece: ReadBatch): void {
    const { sessionId, isNamed } = this.#options
    const frame = entriesFrameOf(sessionId, piece)
    this.#channel.write(frame.bytes(this.#channel.format, isNamed, this.#last))
    this.#last = piece.sequence
    this.#cursor = piece.cursor
    if (this.#isCaughtUp && frame.isPaused !== null) this.#tell(frame.isPaused)
  }

  /** Says that the session waits, or does not any more. */
  #tell(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    this.#write({ type: 'status', ...this.#named, status: isPaused ? 'paused' : 'active' })
  }

  get #named(): { sessionId?: string } {
    return this.#options.isNamed ? { sessionId: this.#options.sessionId } : {}
  }

  #write(frame: Exclude<Frame, { type: 'entries' }>): void {
    if (this.#isOpen) this.#channel.write(bytesOf(frame, this.#channel.format))
  }
}
