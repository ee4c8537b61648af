import type { StreamManager } from '@millrace/log'
import { decodeCursor } from '@millrace/protocol'
import type { Logger } from '../logger.ts'

/** After how many more entries the session of a run that goes on gets another snapshot, at the next commit. */
export const SNAPSHOT_EVERY = 2000
/**
 * How many entries must have come since the last snapshot that this process knows of for the end or pause of a run to give the session another; for its first, since its
 * beginning. A snapshot is as large as the session, and whoever opens the session reads one and what follows it: with one at each end every turn would write all turns
 * before it, and this many entries are read in a moment.
 */
export const SNAPSHOT_AFTER = 500
/** Of how many sessions is known how far their snapshots reach; one that is forgotten gets its next one early. */
const MOST_KNOWN = 10_000

/** Snapshots of sessions, which bound what has to be read to go on; no run waits for one, and none that fails matters. */
export class Snapshots {
  readonly #manager: StreamManager
  readonly #logger: Logger
  readonly #under = new Map<string, Promise<void>>()
  /** How far the latest snapshots reach that were taken here, those taken last at the end. */
  readonly #kept = new Map<string, number>()

  constructor(manager: StreamManager, logger: Logger) {
    this.#manager = manager
    this.#logger = logger
  }

  /** Takes one now, unless one is being taken. */
  offer(sessionId: string): void {
    if (!this.#under.has(sessionId)) this.#take(sessionId, () => true)
  }

  /** Takes one of a session that rests at `head`, after the one that is being taken, if enough has come since that. */
  offerAt(sessionId: string, head: number): void {
    this.#take(sessionId, () => head - (this.#kept.get(sessionId) ?? 0) >= SNAPSHOT_AFTER)
  }

  /** Resolves when none of a session is being taken. */
  async settled(sessionId: string): Promise<void> {
    await this.#under.get(sessionId)
  }

  #take(sessionId: string, isWanted: () => boolean): void {
    const done = this.settled(sessionId)
      .then(async () => {
        if (isWanted()) this.#keep(sessionId, decodeCursor(await this.#manager.snapshot(sessionId)).sequence)
      })
      .catch(cause => this.#logger.warn('a session got no snapshot', { sessionId, cause }))
      .then(() => {
        if (this.#under.get(sessionId) === done) this.#under.delete(sessionId)
      })
    this.#under.set(sessionId, done)
  }

  #keep(sessionId: string, sequence: number): void {
    this.#kept.delete(sessionId)
    this.#kept.set(sessionId, sequence)
    const [oldest] = this.#kept.keys()
    if (oldest !== undefined && this.#kept.size > MOST_KNOWN) this.#kept.delete(oldest)
  }
}
