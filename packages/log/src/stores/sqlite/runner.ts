// Decides where a call runs. Calls that take microseconds run in this thread; calls that may wait for a lock or a
// disk, or take long, run in the worker.

import { LogError } from '../../store/log-error.ts'
import { EventLoopTurn } from './event-loop-turn.ts'
import { isBusy, isFull, logErrorOf } from './failure.ts'
import { type FileOptions, LogFile, walBytesOf } from './log-file.ts'
import {
  isWrite,
  type OperationArgs,
  type OperationCall,
  type OperationName,
  type OperationResult,
  perform,
  type ReadName,
  type WriteName,
} from './operations.ts'
import { WorkerThread } from './worker-thread.ts'

/**
 * Larger writes run in the worker, in bytes. At this size a write takes 0.2 ms, and 3 ms at p99 while the disk is
 * busy.
 */
const MAX_INLINE_BYTES = 128 * 1024
/** Limits of the unanswered calls (law 8): their number, and their size in bytes. */
const MAX_WAITING_CALLS = 20_000
const MAX_WAITING_BYTES = 128 * 1024 * 1024
/**
 * The number of written pages after which a checkpoint runs. Lower with `full`, where commits are cheaper while the
 * write-ahead log does not grow.
 */
const CHECKPOINT_PAGES = { normal: 4096, full: 1024 }
/** The number of pages that an operation on many rows counts as. */
const LONG_PAGES = 64
const PAGE_BYTES = 4096

/** The number of written pages after which the size of the write-ahead log is read: a page may be written several times. */
const PAGES_PER_SIZE_CHECK = 64

/** Delays between checkpoints that readers prevent from emptying the write-ahead log, in ms: the first, and the maximum. */
const FIRST_TRUNCATION_DELAY_MS = 100
const MAX_TRUNCATION_DELAY_MS = 4000

/** A write in the worker that takes longer than this, in ms, waited for a lock: renewals of leases may have waited, too. */
const LOCKED_MS = 1000
/** How long a lock matters after its end, in ms: live processes renew their leases meanwhile. */
const LOCK_GRACE_MS = 3000

/** Properties of a write that are known before it runs. */
export interface WriteCost {
  readonly streamId: string
  /** Size of the value that it carries, in bytes. */
  readonly bytes: number
  /** Whether it changes more than a few rows. */
  readonly isLong?: boolean
}

/** Runs calls on one file, those on a stream in the order of the calls. */
export class Runner {
  readonly #options: FileOptions
  readonly #clock: () => number
  readonly #worker: WorkerThread
  readonly #turn = new EventLoopTurn()
  /** The streams with writes in the worker, and their number. */
  readonly #inWorker = new Map<string, number>()
  #waiting = 0
  #waitingBytes = 0
  #file: LogFile | undefined
  #pages = 0
  #pagesSinceSizeCheck = 0
  #isCheckpointing = false
  /** Whether a checkpoint has to empty the write-ahead log: it is too large, or contains text of removed logs. */
  #mustTruncate = false
  #truncationDelayMs = FIRST_TRUNCATION_DELAY_MS
  /** The next try of a truncation that a reader prevented. */
  #pendingTruncation: NodeJS.Timeout | undefined
  /** Whether writes go to the worker, to wait there for a checkpoint. */
  #isBlocked = false
  #lockedAt = Number.NEGATIVE_INFINITY
  #closed: Promise<void> | undefined

  constructor(options: FileOptions, clock: () => number) {
    this.#options = options
    this.#clock = clock
    this.#worker = new WorkerThread(options)
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** Whether live processes could renew their leases lately: no write of this process had to wait for a long lock. */
  get couldRenew(): boolean {
    return performance.now() - this.#lockedAt >= LOCK_GRACE_MS
  }

  read<N extends ReadName>(name: N, ...args: OperationArgs<N>): Promise<OperationResult<N>> {
    return this.#admit(0, async () => {
      const call = this.#call(name, args)
      try {
        return this.#inline(call)
      } catch (error) {
        if (!isBusy(error)) throw error
        return this.#worker.call(call, 0)
      }
    })
  }

  write<N extends WriteName>(name: N, cost: WriteCost, ...args: OperationArgs<N>): Promise<OperationResult<N>> {
    return this.#admit(cost.bytes, async () => {
      const call = this.#call(name, args)
      if (!this.#runsInline(cost)) return this.#writeInWorker(call, cost)
      try {
        const result = this.#inline(call)
        this.#countPages(cost)
        return result
      } catch (error) {
        if (!isBusy(error)) throw error
        return this.#writeInWorker(call, cost)
      }
    })
  }

  /** Reads the file synchronously; undefined if that is not possible now. */
  peek<T>(look: (file: LogFile) => T): T | undefined {
    try {
      return this.isClosed ? undefined : look(this.#open())
    } catch {
      return undefined
    }
  }

  /**
   * Erases the removed logs: empties the write-ahead log, which has their text. Repeats it while a reader of another
   * process prevents it.
   */
  erase(): void {
    this.#truncate()
  }

  /** Closes the file after all calls. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    clearTimeout(this.#pendingTruncation)
    while (this.#turn.waiting > 0) await this.#turn.next()
    // The last connection to close runs the final checkpoint: that is the worker, if there is one.
    this.#file?.close()
    this.#file = undefined
    await this.#worker.close()
  }

  /**
   * Runs the work in its turn.
   *
   * @throws LogError `unavailable` if too many calls wait.
   */
  async #admit<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    if (this.isClosed) throw new LogError('closed', 'the store was closed: open another handle')
    if (this.#waiting >= MAX_WAITING_CALLS || this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      const waiting = `${this.#waiting} calls with ${this.#waitingBytes} bytes are waiting`
      throw new LogError('unavailable', `SQLite file ${this.#options.path}: ${waiting}: retry when some have finished`)
    }
    this.#waiting++
    this.#waitingBytes += bytes
    try {
      return await this.#turn.run(work)
    } catch (error) {
      // The write-ahead log may be what fills the disk.
      if (isFull(error) && this.#mayCheckpoint && walBytesOf(this.#options.path) > 0) this.#truncate()
      throw logErrorOf(error, this.#options.path)
    } finally {
      this.#waiting--
      this.#waitingBytes -= bytes
    }
  }

  #call<N extends OperationName>(name: N, args: OperationArgs<N>): OperationCall<N> {
    return { name, now: this.#clock(), args }
  }

  #runsInline({ streamId, bytes, isLong = false }: WriteCost): boolean {
    if (this.#options.durability === 'full' || isLong || bytes > MAX_INLINE_BYTES) return false
    return !(this.#isBlocked || this.#inWorker.has(streamId))
  }

  #inline<N extends OperationName>(call: OperationCall<N>): OperationResult<N> {
    const file = this.#open()
    return file.transaction(isWrite(call) ? 'write' : 'read', () => perform(file, call))
  }

  /** Writes in the worker. Later writes to that stream follow it there. */
  async #writeInWorker<N extends WriteName>(call: OperationCall<N>, cost: WriteCost): Promise<OperationResult<N>> {
    const { streamId, bytes } = cost
    const askedAt = performance.now()
    this.#inWorker.set(streamId, (this.#inWorker.get(streamId) ?? 0) + 1)
    try {
      const result = await this.#worker.call(call, bytes)
      this.#countPages(cost)
      return result
    } finally {
      const now = performance.now()
      if (now - askedAt > LOCKED_MS) this.#lockedAt = now
      const remaining = (this.#inWorker.get(streamId) ?? 1) - 1
      if (remaining === 0) this.#inWorker.delete(streamId)
      else this.#inWorker.set(streamId, remaining)
    }
  }

  #open(): LogFile {
    if (this.#file === undefined) {
      const walBytes = walBytesOf(this.#options.path)
      this.#file = new LogFile(this.#options, 0)
      this.#pages = walBytes / PAGE_BYTES
      // A process may have died before it erased what it removed.
      if (walBytes > 0) this.erase()
    }
    return this.#file
  }

  #countPages({ bytes, isLong = false }: WriteCost): void {
    const { durability, path, walBytes } = this.#options
    const pages = isLong ? LONG_PAGES : 1 + bytes / PAGE_BYTES
    this.#pages += pages
    this.#pagesSinceSizeCheck += pages
    if (this.#pagesSinceSizeCheck >= PAGES_PER_SIZE_CHECK) {
      this.#pagesSinceSizeCheck = 0
      // Other processes and repeated pages extend it too.
      const size = walBytesOf(path)
      if (size > walBytes && this.#mayCheckpoint) void this.#checkpoint()
      // Writes are faster than the checkpoint: they wait for it.
      else if (size > 2 * walBytes && this.#isCheckpointing) this.#isBlocked = true
    }
    if (this.#pages >= CHECKPOINT_PAGES[durability]) void this.#checkpoint()
  }

  /** Whether a checkpoint is neither in progress nor about to be tried again. */
  get #mayCheckpoint(): boolean {
    return !this.#isCheckpointing && this.#pendingTruncation === undefined
  }

  /** Empties the write-ahead log. Repeats it while a reader of another process prevents it. */
  #truncate(): void {
    this.#mustTruncate = true
    this.#truncationDelayMs = FIRST_TRUNCATION_DELAY_MS
    void this.#checkpoint()
  }

  async #checkpoint(): Promise<void> {
    if (this.#isCheckpointing || this.isClosed) return
    this.#isCheckpointing = true
    if (this.#pendingTruncation !== undefined) {
      clearTimeout(this.#pendingTruncation)
      this.#pendingTruncation = undefined
      this.#mustTruncate = true
    }
    let isTruncation = false
    let isTooLarge = false
    const { path, walBytes } = this.#options
    try {
      do {
        this.#pages = 0
        isTooLarge = walBytesOf(path) > walBytes
        isTruncation = this.#mustTruncate
        this.#mustTruncate = false
        // Most of the write-ahead log is copied while writes continue. For the rest, writes wait in the worker; then
        // the write-ahead log restarts and does not grow.
        await this.#worker.checkpoint('passive')
        // Not after a close: the worker was asked to end, and another request would start a new one that is never
        // closed.
        this.#isBlocked = (isTruncation || isTooLarge || this.#pages > 0) && !this.isClosed
        if (!this.#isBlocked) continue
        const isComplete = await this.#worker.checkpoint(isTruncation ? 'truncate' : 'full')
        if ((isTruncation || isTooLarge) && !isComplete) this.#truncateLater()
        this.#isBlocked = false
      } while (this.#mustTruncate && !this.isClosed)
    } catch {
      // Nothing is lost, and the next checkpoint tries again.
      if (isTruncation || isTooLarge) this.#truncateLater()
    } finally {
      this.#isBlocked = this.#isCheckpointing = false
    }
  }

  #truncateLater(): void {
    if (this.isClosed) return
    this.#pendingTruncation = setTimeout(() => void this.#checkpoint(), this.#truncationDelayMs).unref()
    this.#truncationDelayMs = Math.min(this.#truncationDelayMs * 2, MAX_TRUNCATION_DELAY_MS)
  }
}
