import type { StreamManager } from '@millrace/log'
import type { SnapshotRef } from '@millrace/log/internal'
import { decodeCursor } from '@millrace/protocol'
import type { Logger } from '../telemetry/logger.ts'

/** After how many more entries the session of a run that goes on gets another snapshot, at the next commit. */
export const SNAPSHOT_EVERY = 2000
/**
 * How many entries must have come since the last snapshot that this process knows of for the end or pause of a run to give the session another; for its first, since its
 * beginning. A snapshot is as large as the session, and whoever opens the session reads one and what follows it: with one at each end every turn would write all turns
 * before it, and this many entries are read in a moment.
 */
export const SNAPSHOT_AFTER = 500
/**
 * For how many bytes of the last snapshot there must be one of those entries: so what snapshots write goes with what is said, however long the session is, and what is
 * read after one is small beside it.
 */
export const SNAPSHOT_BYTES = 1000
/** Of how many sessions is known how far their snapshots reach; of one that is forgotten whoever reads it next hears. */
const MOST_KNOWN = 10_000

/** Snapshots of sessions, which bound what has to be read to go on; no run waits for one, and none that fails matters. */
export class Snapshots {
  readonly #manager: StreamManager
  readonly #logger: Logger
  readonly #under = new Map<string, Promise<void>>()
  /** The latest snapshots that were taken or read here; those of which was heard last at the end. */
  readonly #kept = new Map<string, SnapshotRef>()

  constructor(manager: StreamManager, logger: Logger) {
    this.#manager = manager
    this.#logger = logger
  }

  /** Hears of the one from which a session was read that is now at `head`; tells how far the latest reaches. */
  noteRead(sessionId: string, snapshot: SnapshotRef, head: number): number {
    const known = this.#kept.get(sessionId)
    // One that reaches further than the session was another's of that name.
    if (known && known.sequence >= snapshot.sequence && known.sequence <= head) return known.sequence
    this.#keep(sessionId, snapshot)
    return snapshot.sequence
  }

  /** Takes one now, unless one is being taken. */
  offer(sessionId: string): void {
    if (!this.#under.has(sessionId)) this.#take(sessionId, () => true)
  }

  /** Takes one of a session that rests at `head`, after the one that is being taken, if enough has come since that. */
  offerAt(sessionId: string, head: number): void {
    this.#take(sessionId, () => {
      const { sequence, bytes } = this.#kept.get(sessionId) ?? { sequence: 0, bytes: 0 }
      return head - sequence >= Math.max(SNAPSHOT_AFTER, bytes / SNAPSHOT_BYTES)
    })
  }

  /** Resolves when none of a session is being taken. */
  async settled(sessionId: string): Promise<void> {
    await this.#under.get(sessionId)
  }

  #take(sessionId: string, isWanted: () => boolean): void {
    const done = this.settled(sessionId)
      .then(async () => {
        if (!isWanted()) return
        const { cursor, bytes } = await this.#manager.snapshot(sessionId)
        this.#keep(sessionId, { sequence: decodeCursor(cursor).sequence, bytes })
      })
      .catch(cause => this.#logger.warn('a session got no snapshot', { sessionId, cause }))
      .then(() => {
        if (this.#under.get(sessionId) === done) this.#under.delete(sessionId)
      })
    this.#under.set(sessionId, done)
  }

  #keep(sessionId: string, snapshot: SnapshotRef): void {
    this.#kept.delete(sessionId)
    this.#kept.set(sessionId, snapshot)
    const [oldest] = this.#kept.keys()
    if (oldest !== undefined && this.#kept.size > MOST_KNOWN) this.#kept.delete(oldest)
  }
}
