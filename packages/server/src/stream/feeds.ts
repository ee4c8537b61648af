// The live end of a session for all connections that have caught up with it: one reader, and one encoding of each piece. Who is slow is let go, and reads for itself
// until it has caught up again (law 8).

import type { BatchReader } from '@millrace/log'
import { EntriesFrame, type Piece } from './format.ts'

/** Somebody who is given what comes; false where there is no room for it, and then it gets nothing more. */
export interface Member {
  deliver(frame: EntriesFrame): boolean
  /** It gets nothing more, and reads on for itself. */
  left(): void
}

/** The feeds of a server: one a session, for as long as somebody follows it here. */
export class Feeds {
  readonly #feeds = new Map<string, Feed>()

  /** How many there are. */
  get size(): number {
    return this.#feeds.size
  }

  /**
   * Joins the feed of a session for who has read all that its reader had to give, and takes the reader over: gives what one leaves by. Undefined where that feed is
   * elsewhere just now, and then the reader stays whose it is.
   */
  join(sessionId: string, reader: BatchReader, cursor: string, member: Member): (() => void) | undefined {
    const there = this.#feeds.get(sessionId)
    const feed = there ?? this.#make(sessionId, reader, cursor)
    if (!feed.join(cursor, member)) return undefined
    if (there) reader.close()
    return () => feed.leave(member)
  }

  #make(sessionId: string, reader: BatchReader, cursor: string): Feed {
    const feed: Feed = new Feed(sessionId, reader, cursor, () => {
      if (this.#feeds.get(sessionId) === feed) this.#feeds.delete(sessionId)
    })
    this.#feeds.set(sessionId, feed)
    return feed
  }
}

/** How many pieces are kept for those who come a moment late, and how long they may be together. */
const KEPT = { frames: 16, length: 256 * 1024 }

class Feed {
  readonly #sessionId: string
  readonly #reader: BatchReader
  readonly #onIdle: () => void
  readonly #members = new Set<Member>()
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
  join(cursor: string, member: Member): boolean {
    let missed: EntriesFrame[] = []
    if (cursor !== this.#cursor) {
      const at = this.#recent.findIndex(({ piece }) => piece.cursor === cursor)
      if (at < 0) return false
      missed = this.#recent.slice(at + 1)
    }
    this.#members.add(member)
    for (const frame of missed) if (this.#members.has(member)) this.#give(member, frame)
    return true
  }

  leave(member: Member): void {
    if (this.#members.delete(member) && this.#members.size === 0) this.#close()
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
    for (const member of this.#members) this.#give(member, frame)
    this.#keep(frame)
  }

  #keep(frame: EntriesFrame): void {
    this.#recent.push(frame)
    this.#recentLength += frame.length
    while (this.#recent.length > KEPT.frames || this.#recentLength > KEPT.length) {
      this.#recentLength -= (this.#recent.shift() as EntriesFrame).length
    }
  }

  #give(member: Member, frame: EntriesFrame): void {
    if (member.deliver(frame)) return
    this.leave(member)
    member.left()
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#reader.close()
    this.#onIdle()
    const members = [...this.#members]
    this.#members.clear()
    for (const member of members) member.left()
  }
}
