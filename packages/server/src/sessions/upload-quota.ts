// The quota of uploads. Usage is measured in the store, so it holds across processes and restarts, and deleting a session
// makes room.

import type { BlobUsage, StreamManager } from '@millrace/log'
import type { Logger } from '@millrace/runtime'
import { KeyedQueue, uploadUsage } from '@millrace/runtime/internal'
import type { Limits } from '../auth/limits.ts'
import { HttpError } from '../errors/http-error.ts'

/** What a file counts at least, in bytes: the number of files is bounded too. */
export const MIN_COUNTED_BYTES = 64 * 1024
/**
 * Time for which a measured usage of an owner is used again, in ms: measuring visits every file. Files that other
 * processes accept meanwhile are not counted.
 */
export const USAGE_MS = 5_000
/** Time after which a refusal measures again, in ms: the owner may have deleted sessions. */
const REFUSAL_USAGE_MS = 1_000
/** Maximum number of owners whose usage is remembered. */
const MAX_OWNERS = 1_000

interface Usage {
  bytes: number
  readonly measuredAt: number
}

interface QuotaOptions {
  readonly manager: StreamManager
  readonly limits: Limits
  readonly logger: Logger
  readonly now: () => number
}

/** Bytes of files, each of which counts as `MIN_COUNTED_BYTES` at least. */
const counted = ({ count, bytes }: BlobUsage): number => Math.max(bytes, count * MIN_COUNTED_BYTES)

/** Bounds the files of each session and each owner. */
export class UploadQuota {
  readonly #options: QuotaOptions
  readonly #queue = new KeyedQueue()
  readonly #owners = new Map<string | null, Usage>()
  #hasWarned = false

  constructor(options: QuotaOptions) {
    this.#options = options
  }

  /** Refuses an owner without room before a body is received. @throws `uploads_limit` */
  async assertRoom(owner: string | null): Promise<void> {
    if (this.#isMeasured()) await this.#assertOwnerRoom(owner, MIN_COUNTED_BYTES)
  }

  /**
   * Stores a file of `bytes` bytes in a session of an owner. Files of one owner are stored one at a time in this process.
   * A file that the session has already, by its hash, needs no room. @throws `uploads_limit`
   */
  store<T>(owner: string | null, streamId: string, hash: string, bytes: number, work: () => Promise<T>): Promise<T> {
    if (!this.#isMeasured()) return work()
    return this.#queue.run(keyOf(owner), async () => {
      const size = Math.max(bytes, MIN_COUNTED_BYTES)
      if ((await this.#measured({ streamId, hash })) > 0) return work()
      const { sessionUploadedBytes: limit } = this.#options.limits
      if ((await this.#measured({ streamId })) + size > limit) throw limitError('in a session', limit)
      return this.#grow(owner, size, work)
    })
  }

  /** Copies a session of an owner with its files, which count once more. @throws `uploads_limit` */
  fork<T>(owner: string | null, source: string, work: () => Promise<T>): Promise<T> {
    if (!this.#isMeasured()) return work()
    return this.#queue.run(keyOf(owner), async () => {
      const size = await this.#measured({ streamId: source })
      return size === 0 ? work() : this.#grow(owner, size, work)
    })
  }

  async #grow<T>(owner: string | null, size: number, work: () => Promise<T>): Promise<T> {
    await this.#assertOwnerRoom(owner, size)
    const done = await work()
    const usage = this.#owners.get(owner)
    if (usage) usage.bytes += size
    return done
  }

  async #assertOwnerRoom(owner: string | null, size: number): Promise<void> {
    const { ownerUploadedBytes: limit } = this.#options.limits
    const { bytes } = await this.#usageOf(owner, USAGE_MS)
    if (bytes + size <= limit) return
    const fresh = await this.#usageOf(owner, REFUSAL_USAGE_MS)
    if (fresh.bytes + size > limit) throw limitError('in all sessions', limit)
  }

  async #usageOf(owner: string | null, maxAgeMs: number): Promise<Usage> {
    const { now } = this.#options
    const known = this.#owners.get(owner)
    if (known && now() - known.measuredAt < maxAgeMs) return known
    const usage = { bytes: await this.#measured({ principal: owner }), measuredAt: now() }
    // The oldest measurement is first.
    this.#owners.delete(owner)
    this.#owners.set(owner, usage)
    if (this.#owners.size > MAX_OWNERS) this.#owners.delete(this.#owners.keys().next().value as string | null)
    return usage
  }

  async #measured(scope: Parameters<typeof uploadUsage>[1]): Promise<number> {
    const usage = await uploadUsage(this.#options.manager, scope)
    return usage === undefined ? 0 : counted(usage)
  }

  /** Whether the store can measure files. Warns once if not. */
  #isMeasured(): boolean {
    const { manager, logger } = this.#options
    if (manager.store.blobUsage) return true
    if (!this.#hasWarned) logger.warn(UNMEASURED_WARNING, {})
    this.#hasWarned = true
    return false
  }
}

const UNMEASURED_WARNING = 'uploads have no quota: the store has no blobUsage, implement it or refuse the action upload'

const keyOf = (owner: string | null): string => JSON.stringify(owner)

const limitError = (where: string, limit: number): HttpError =>
  new HttpError('uploads_limit', `uploads: expected at most ${limit} bytes of files ${where}: delete sessions first`)
