// The live end of a session for all connections that have caught up with it: one reader, and one encoding of each piece. Who is slow is let go, and reads for itself
// until it has caught up again (law 8).

import type { BatchReader } from '@millrace/log/internal'
import { EntriesFrame, type Piece } from './format.ts'

/** Somebody who is given what comes; false where there is no room for it, and then it gets nothing more. */
export interface FeedSubscriber {
  deliver(frame: EntriesFrame): boolean
  /** It gets nothing more, and reads on for itself. */
  left(): void
}

/** The feeds of a server: one a session, for as long as somebody follows it here. */
export class SessionFeeds {
  readonly #feeds = new Map<string, SessionFeed>()

  /** How many there are. */
  get size(): number {
    return this.#feeds.size
  }

  /**
   * Joins the feed of a session for who has read all that its reader had to give, and takes the reader over: gives what one leaves by. Undefined where that feed is
   * elsewhere just now, and then the reader stays whose it is.
   */
  join(sessionId: string, reader: BatchReader, cursor: string, subscriber: FeedSubscriber): (() => void) | undefined {
    const there = this.#feeds.get(sessionId)
    const feed = there ?? this.#make(sessionId, reader, cursor)
    if (!feed.join(cursor, subscriber)) return undefined
    if (there) reader.close()
    return () => feed.leave(subscriber)
  }

  #make(sessionId: string, reader: BatchReader, cursor: string): SessionFeed {
    const feed: SessionFeed = new SessionFeed(sessionId, reader, cursor, () => {
      if (this.#feeds.get(sessionId) === feed) this.#feeds.delete(sessionId)
    })
    this.#feeds.set(sessionId, feed)
    return feed
  }
}

/** How many pieces are kept for those who come a moment late, and how long they may be together. */
const KEPT = { frames: 16, length: 256 * 1024 }

class SessionFeed {
  readonly #sessionId: string
  readonly #reader: BatchReader
  readonly #onIdle: () => void
  readonly #subscribers = new Set<FeedSubscriber>()
  readonly #recent: EntriesFrame[] = []
  #recentLength = 0
  #isClosed = false
  #cursor: string

  /** The reader has given all there was, up to the cursor; it is closed when the last member leaves. */
  constructor(sessionId: string, reader: BatchReader, cursor: string, onIdle: () => void) {
    this.#sessionId = sessionId
    this.#reader = reader
    this.#cursor = cursor
    this.#onIdle = onIdle
    void this.#run()
  }

  /** Takes in who has read up to a cursor: whether what follows it is here. */
  join(cursor: string, subscriber: FeedSubscriber): boolean {
    let missed: EntriesFrame[] = []
    if (cursor !== this.#cursor) {
      const at = this.#recent.findIndex(({ piece }) => piece.cursor === cursor)
      if (at < 0) return false
      missed = this.#recent.slice(at + 1)
    }
    this.#subscribers.add(subscriber)
    for (const frame of missed) if (this.#subscribers.has(subscriber)) this.#give(subscriber, frame)
    return true
  }

  leave(subscriber: FeedSubscriber): void {
    if (this.#subscribers.delete(subscriber) && this.#subscribers.size === 0) this.#close()
  }

  async #run(): Promise<void> {
    try {
      for (let piece = await this.#reader.next(); piece; piece = await this.#reader.next()) this.#take(piece)
    } catch {
      // Each finds out for itself what that means for it.
    }
    this.#close()
  }

  #take(piece: Piece): void {
    const frame = new EntriesFrame(this.#sessionId, piece)
    this.#cursor = piece.cursor
    for (const subscriber of this.#subscribers) this.#give(subscriber, frame)
    this.#keep(frame)
  }

  #keep(frame: EntriesFrame): void {
    this.#recent.push(frame)
    this.#recentLength += frame.length
    while (this.#recent.length > KEPT.frames || this.#recentLength > KEPT.length) {
      this.#recentLength -= (this.#recent.shift() as EntriesFrame).length
    }
  }

  #give(subscriber: FeedSubscriber, frame: EntriesFrame): void {
    if (subscriber.deliver(frame)) return
    this.leave(subscriber)
    subscriber.left()
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#reader.close()
    this.#onIdle()
    const subscribers = [...this.#subscribers]
    this.#subscribers.clear()
    for (const subscriber of subscribers) subscriber.left()
  }
}
