import { type StreamManager, sessionIdOf } from '@millrace/log'
import type { BatchReader, LiveSubscriber, ReadBatch } from '@millrace/log/internal'
import { decodeCursor, encodeCursor, type Frame } from '@millrace/protocol'
import type { SessionIdentity } from '../sessions/session-access.ts'
import { assertIncarnation, openFrame, truncatedFrame } from './control-frames.ts'
import { bytesOf, entriesFrameOf } from './format.ts'
import type { StreamChannel } from './stream-channel.ts'
import { PAGE_BYTES } from './stream-settings.ts'

export interface FollowOptions {
  readonly identity: SessionIdentity
  /** A cursor token or a bare sequence. */
  readonly after: string
  /** Whether each frame names its session, because several share the connection. */
  readonly isNamed: boolean
  readonly merge: boolean
  /** Whether the replay includes discarded entries. */
  readonly includeDiscarded: boolean
  /** Whether it continues live after the replay. */
  readonly isLive: boolean
  readonly heartbeatMs: number
}

/** One session on one connection: replay after a position, then live, each entry exactly once (law 2). */
export class Follower implements LiveSubscriber {
  readonly #manager: StreamManager
  readonly #channel: StreamChannel
  readonly #options: FollowOptions
  /** The id that the client knows. */
  readonly #sessionId: string
  #isStopped = false
  /** Closes the current reader or subscription. */
  #detach: () => void = () => {}
  #cursor: string
  /** The sequence of the last `entries` frame; null before the first. */
  #last: number | null = null
  /** The last status that was sent. */
  #isPaused: boolean | undefined
  #isCaughtUp = false
  #onDropped: () => void = () => {}

  constructor(manager: StreamManager, channel: StreamChannel, options: FollowOptions) {
    this.#manager = manager
    this.#channel = channel
    this.#options = options
    this.#sessionId = sessionIdOf(options.identity.streamId)
    this.#cursor = options.after
  }

  /** Follows until the connection ends, the position turns out truncated, or the replay is done if `isLive` is false. @throws any other error */
  async run(): Promise<void> {
    const { identity, heartbeatMs } = this.#options
    const { signal } = this.#channel
    const onAbort = () => this.#detach()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      const open = await openFrame(this.#manager, identity, this.#cursor, heartbeatMs)
      this.#cursor = open.cursor
      this.#write(open)
      while (await this.#read());
    } catch (error) {
      if (!this.#isOpen) return
      this.#write({ ...(await truncatedFrame(this.#manager, identity, error)), ...this.#sessionField })
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Stops sending frames of this session. */
  stop(): void {
    this.#isStopped = true
    this.#detach()
  }

  get #isOpen(): boolean {
    return !this.#isStopped && this.#channel.isOpen
  }

  /** Reads until caught up, then subscribes to live batches. Returns true if the subscription fell behind and reading must continue. */
  async #read(): Promise<boolean> {
    const { identity, merge, includeDiscarded, isLive } = this.#options
    const after = this.#cursor
    // A client that has caught up once gets discards as entries, like every live client, so discarded entries need no filter.
    // Rewinds are always included: clients keep the rewound runs and their usage in the view.
    const readOptions = {
      follow: true,
      merge,
      includeDiscarded: includeDiscarded || this.#isCaughtUp,
      rewound: true,
      pageBytes: PAGE_BYTES,
    }
    const reader = this.#manager.readBatches(identity.streamId, { after, ...readOptions })
    this.#detach = () => reader.close()
    try {
      while (this.#isOpen) {
        if (!reader.isCaughtUp) {
          await this.#channel.runWithRoom(async () => {
            const batch = await reader.nextAvailable()
            assertIncarnation(identity, reader.cursor)
            this.#writeIfOpen(batch)
          })
          continue
        }
        this.#onCaughtUp(reader)
        if (!isLive) return false
        const dropped = this.#subscribe(reader)
        if (dropped !== undefined) {
          await dropped
          return this.#isOpen
        }
        this.#writeIfOpen(await reader.next())
        await this.#channel.room()
      }
      return false
    } finally {
      reader.close()
    }
  }

  #writeIfOpen(batch: ReadBatch | undefined): void {
    if (batch && this.#isOpen) this.#writeEntries(batch)
  }

  #onCaughtUp(reader: BatchReader): void {
    if (this.#isCaughtUp) return
    this.#isCaughtUp = true
    // The reader has resolved a bare sequence to a cursor.
    if (reader.cursor) this.#cursor = encodeCursor(reader.cursor)
    const { sequence } = decodeCursor(this.#cursor)
    this.#write({ type: 'caught-up', ...this.#sessionField, sequence, cursor: this.#cursor })
    this.#writeStatus(reader.status === 'paused')
  }

  /** Subscribes to the live end if the reader is there; otherwise undefined. Resolves when the follower falls behind or stops. */
  #subscribe(reader: BatchReader): Promise<void> | undefined {
    const dropped = Promise.withResolvers<void>()
    this.#onDropped = dropped.resolve
    const unsubscribe = reader.subscribe(this)
    if (unsubscribe === undefined) return undefined
    this.#detach = () => {
      unsubscribe()
      dropped.resolve()
    }
    return dropped.promise
  }

  deliver(batch: ReadBatch): boolean {
    if (!this.#isOpen || this.#channel.isFull) return false
    this.#writeEntries(batch)
    return true
  }

  dropped(): void {
    this.#onDropped()
  }

  #writeEntries(batch: ReadBatch): void {
    const frame = entriesFrameOf(this.#sessionId, batch)
    this.#channel.write(frame.bytes(this.#channel.format, this.#options.isNamed, this.#last))
    this.#last = batch.sequence
    this.#cursor = batch.cursor
    if (this.#isCaughtUp && frame.isPaused !== null) this.#writeStatus(frame.isPaused)
  }

  /** Sends the status if it changed. */
  #writeStatus(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    this.#write({ type: 'status', ...this.#sessionField, status: isPaused ? 'paused' : 'active' })
  }

  get #sessionField(): { sessionId?: string } {
    return this.#options.isNamed ? { sessionId: this.#sessionId } : {}
  }

  #write(frame: Exclude<Frame, { type: 'entries' }>): void {
    if (this.#isOpen) this.#channel.write(bytesOf(frame, this.#channel.format))
  }
}
