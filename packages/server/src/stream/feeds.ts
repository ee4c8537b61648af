import type { StreamManager } from '@millrace/log'
import { Feed, type Member } from './feed.ts'

/** The feeds of a server: one a session, for as long as somebody follows it here. */
export class Feeds {
  readonly #manager: StreamManager
  readonly #feeds = new Map<string, Feed>()

  constructor(manager: StreamManager) {
    this.#manager = manager
  }

  /** Joins the feed of a session for who has read up to a cursor; undefined where that feed is elsewhere just now. */
  join(sessionId: string, cursor: string, member: Member): (() => void) | undefined {
    let feed = this.#feeds.get(sessionId)
    if (feed === undefined) {
      const reader = this.#manager.readBatches(sessionId, { after: cursor, follow: true })
      const made: Feed = new Feed(sessionId, reader, cursor, () => {
        if (this.#feeds.get(sessionId) === made) this.#feeds.delete(sessionId)
      })
      feed = made
      this.#feeds.set(sessionId, made)
    }
    const joined = feed
    return joined.join(cursor, member) ? () => joined.leave(member) : undefined
  }
}
