import type { BatchReader } from '@millrace/log'
import { Feed, type Member } from './feed.ts'

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
