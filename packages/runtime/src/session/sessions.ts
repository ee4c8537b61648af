import type { StreamManager } from '@millrace/log'
import { LruCache } from '@millrace/log/internal'
import { Session, type SessionOptions } from './session.ts'

/** How much is kept of sessions that rest, as read from the store. */
const MOST_KEPT_BYTES = 16 * 1024 * 1024

/** Sessions that were driven here lately, so that the next turn of one reads what is new in it, however long it is. */
export class Sessions {
  readonly #manager: StreamManager
  readonly #kept = new LruCache<Session>(MOST_KEPT_BYTES)

  constructor(manager: StreamManager) {
    this.#manager = manager
  }

  /** A session as it is now, for one drive. */
  async open(id: string, options: SessionOptions): Promise<Session> {
    const kept = this.#kept.get(id)
    // It is one drive's at a time.
    this.#kept.delete(id)
    return kept && (await kept.wake(options)) ? kept : Session.open(this.#manager, id, options)
  }

  /** Keeps a session on which nobody works any more. */
  keep(session: Session): void {
    session.release()
    this.#kept.set(session.id, session, session.bytes)
  }
}
