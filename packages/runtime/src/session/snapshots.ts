import type { StreamManager } from '@millrace/log'
import type { SnapshotRef } from '@millrace/log/internal'
import { decodeCursor } from '@millrace/protocol'
import type { Logger } from '../telemetry/logger.ts'

/** Number of new entries after which a running session gets another snapshot, at the next commit. */
export const SNAPSHOT_INTERVAL = 2000
/**
 * Minimum number of entries since the latest known snapshot for a run to take one when it ends or pauses. A snapshot is
 * as large as the session: one per turn would rewrite all earlier turns, and this many entries are read quickly.
 */
export const SNAPSHOT_MIN_ENTRIES = 500
/**
 * Bytes of the last snapshot per entry that must have been added since. So the bytes of snapshots stay proportional to
 * the log, and the entries after a snapshot stay few compared to it.
 */
export const SNAPSHOT_BYTES_PER_ENTRY = 1000
/**
 * Maximum number of sessions whose latest snapshot is remembered. A forgotten one is noted again when the session is
 * read.
 */
const MAX_KNOWN_SNAPSHOTS = 10_000

/**
 * Takes snapshots, which bound the entries that must be read to open a session. No run waits for a snapshot, and
 * failures are only logged.
 */
export class Snapshots {
  readonly #manager: StreamManager
  readonly #logger: Logger
  readonly #inProgress = new Map<string, Promise<void>>()
  /** The latest snapshots taken or read here, least recently noted first. */
  readonly #latest = new Map<string, SnapshotRef>()

  constructor(manager: StreamManager, logger: Logger) {
    this.#manager = manager
    this.#logger = logger
  }

  /** Notes the snapshot from which a session at `head` was read. Returns the sequence of the latest known snapshot. */
  noteRead(sessionId: string, snapshot: SnapshotRef, head: number): number {
    const latest = this.#latest.get(sessionId)
    // A snapshot beyond the head belongs to a deleted session with the same id.
    if (latest && latest.sequence >= snapshot.sequence && latest.sequence <= head) return latest.sequence
    this.#remember(sessionId, snapshot)
    return snapshot.sequence
  }

  /** Takes a snapshot now, unless one is in progress. */
  takeNow(sessionId: string): void {
    if (!this.#inProgress.has(sessionId)) this.#take(sessionId, () => true)
  }

  /**
   * Takes a snapshot of a session that rests at `head`, after the one in progress, if enough entries were added since.
   */
  takeAtRest(sessionId: string, head: number): void {
    this.#take(sessionId, () => {
      const { sequence, bytes } = this.#latest.get(sessionId) ?? { sequence: 0, bytes: 0 }
      return head - sequence >= Math.max(SNAPSHOT_MIN_ENTRIES, bytes / SNAPSHOT_BYTES_PER_ENTRY)
    })
  }

  /** Resolves when no snapshot of the session is in progress. */
  async settled(sessionId: string): Promise<void> {
    await this.#inProgress.get(sessionId)
  }

  #take(sessionId: string, isWanted: () => boolean): void {
    const done = this.settled(sessionId)
      .then(async () => {
        if (!isWanted()) return
        const { cursor, bytes } = await this.#manager.snapshot(sessionId)
        this.#remember(sessionId, { sequence: decodeCursor(cursor).sequence, bytes })
      })
      .catch(cause => this.#logger.warn('failed to take a snapshot', { sessionId, cause }))
      .then(() => {
        if (this.#inProgress.get(sessionId) === done) this.#inProgress.delete(sessionId)
      })
    this.#inProgress.set(sessionId, done)
  }

  #remember(sessionId: string, snapshot: SnapshotRef): void {
    this.#latest.delete(sessionId)
    this.#latest.set(sessionId, snapshot)
    const [oldest] = this.#latest.keys()
    if (oldest !== undefined && this.#latest.size > MAX_KNOWN_SNAPSHOTS) this.#latest.delete(oldest)
  }
}
