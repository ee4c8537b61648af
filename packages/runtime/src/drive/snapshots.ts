import type { StreamManager } from '@millrace/log'
import type { Logger } from '../logger.ts'

/** After how many more entries the session of a run that goes on gets another snapshot, at the next commit. */
export const SNAPSHOT_EVERY = 2000

/** Snapshots of sessions, which bound what has to be read to go on; no run waits for one, and none that fails matters. */
export class Snapshots {
  readonly #manager: StreamManager
  readonly #logger: Logger
  readonly #under = new Map<string, Promise<void>>()

  constructor(manager: StreamManager, logger: Logger) {
    this.#manager = manager
    this.#logger = logger
  }

  /** Takes one now, unless one is being taken. */
  offer(sessionId: string): void {
    if (!this.#under.has(sessionId)) this.take(sessionId)
  }

  /** Takes one now, or after the one that is being taken. */
  take(sessionId: string): void {
    const done = this.settled(sessionId)
      .then(() => this.#manager.snapshot(sessionId))
      .catch(cause => this.#logger.warn('a session got no snapshot', { sessionId, cause }))
      .then(() => {
        if (this.#under.get(sessionId) === done) this.#under.delete(sessionId)
      })
    this.#under.set(sessionId, done)
  }

  /** Resolves when none of a session is being taken. */
  async settled(sessionId: string): Promise<void> {
    await this.#under.get(sessionId)
  }
}
