// Decides where a call runs. Calls that take microseconds run in this thread; calls that may wait for a lock or a
// disk, or take long, run in the worker.

import { statSync } from 'node:fs'
import { LogError } from '../../store/log-error.ts'
import { EventLoopTurn } from './event-loop-turn.ts'
import { isBusy, logErrorOf } from './failure.ts'
import { type FileOptions, LogFile } from './log-file.ts'
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

/** Delays between checkpoints that readers prevent from erasing removed logs, in ms: the first, and the maximum. */
const FIRST_ERASURE_DELAY_MS = 100
const MAX_ERASURE_DELAY_MS = 4000

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
  #isCheckpointing = false
  /** Whether the write-ahead log may contain text of removed logs, which a checkpoint has to erase. */
  #mustErase = false
  #erasureDelayMs = FIRST_ERASURE_DELAY_MS
  #cancelErasure: (() => void) | undefined
  /** Whether writes go to the worker, to wait there for a checkpoint. */
  #isBlocked = false
  #closed: Promise<void> | undefined

  constructor(options: FileOptions, clock: () => number) {
    this.#options = options
    this.#clock = clock
    this.#worker = new WorkerThread(options)
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  read<N extends ReadName>(name: N, ...args: OperationArgs<N>): Promise<OperationResult<N>> {
    return this.#admit(0, async () => {
      const call = this.#call(name, args)
      try {
        return this.#inline(call)
      } catch (error) {
        if (!isBusy(error)) throw error
        return this.#worker.call(call)
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
    this.#mustErase = true
    this.#erasureDelayMs = FIRST_ERASURE_DELAY_MS
    void this.#checkpoint()
  }

  /** Closes the file after all calls. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    this.#cancelErasure?.()
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
    const { streamId } = cost
    this.#inWorker.set(streamId, (this.#inWorker.get(streamId) ?? 0) + 1)
    try {
      const result = await this.#worker.call(call)
      this.#countPages(cost)
      return result
    } finally {
      const remaining = (this.#inWorker.get(streamId) ?? 1) - 1
      if (remaining === 0) this.#inWorker.delete(streamId)
      else this.#inWorker.set(streamId, remaining)
    }
  }

  #open(): LogFile {
    if (this.#file === undefined) {
      const walBytes = statSync(`${this.#options.path}-wal`, { throwIfNoEntry: false })?.size ?? 0
      this.#file = new LogFile(this.#options, 0)
      this.#pages = walBytes / PAGE_BYTES
      // A process may have died before it erased what it removed.
      if (walBytes > 0) this.erase()
    }
    return this.#file
  }

  #countPages({ bytes, isLong = false }: WriteCost): void {
    this.#pages += isLong ? LONG_PAGES : 1 + bytes / PAGE_BYTES
    if (this.#pages >= CHECKPOINT_PAGES[this.#options.durability]) void this.#checkpoint()
  }

  async #checkpoint(): Promise<void> {
    if (this.#isCheckpointing || this.isClosed) return
    this.#isCheckpointing = true
    this.#cancelErasure?.()
    let isErasure = false
    try {
      do {
        this.#pages = 0
        isErasure = this.#mustErase
        this.#mustErase = false
        // Most of the write-ahead log is copied while writes continue. For the rest, writes wait in the worker; then
        // the write-ahead log restarts and does not grow.
        await this.#worker.checkpoint('passive')
        // Not after a close: the worker was asked to end, and another request would start a new one that is never
        // closed.
        this.#isBlocked = (isErasure || this.#pages > 0) && !this.isClosed
        if (!this.#isBlocked) continue
        const isComplete = await this.#worker.checkpoint(isErasure ? 'truncate' : 'full')
        if (isErasure && !isComplete) this.#eraseLater()
        this.#isBlocked = false
      } while (this.#mustErase && !this.isClosed)
    } catch {
      // Nothing is lost, and the next checkpoint tries again.
      if (isErasure) this.#eraseLater()
    } finally {
      this.#isBlocked = this.#isCheckpointing = false
    }
  }

  #eraseLater(): void {
    if (this.isClosed) return
    const timer = setTimeout(() => {
      this.#mustErase = true
      void this.#checkpoint()
    }, this.#erasureDelayMs).unref()
    this.#cancelErasure = () => clearTimeout(timer)
    this.#erasureDelayMs = Math.min(this.#erasureDelayMs * 2, MAX_ERASURE_DELAY_MS)
  }
}
