// Where a call runs. What takes microseconds runs here and now; what may wait for a lock or a disk, or takes long, runs in the worker.

import { statSync } from 'node:fs'
import { LogError } from '../error.ts'
import { isBusy, logErrorOf } from './failure.ts'
import { type FileOptions, LogFile } from './file.ts'
import {
  type Args,
  type Call,
  isWrite,
  type Name,
  perform,
  type ReadName,
  type Result,
  type WriteName,
} from './operations.ts'
import { Thread } from './thread.ts'
import { Turn } from './turn.ts'

/** Larger writes than this leave the event loop, in bytes. */
const INLINE_BYTES = 256 * 1024
/** What waits for the worker is bounded (law 8): so many calls, so many bytes. */
const MAX_WAITING_CALLS = 20_000
const MAX_WAITING_BYTES = 128 * 1024 * 1024
/** After about so many pages written the write-ahead log is brought into the file. */
const CHECKPOINT_PAGES = 4096
const PAGE_BYTES = 4096

/** What is known of a write before it is done. */
export interface Load {
  readonly streamId: string
  /** Of the value that it carries. */
  readonly bytes: number
  /** Whether it touches more than a few rows. */
  readonly isLong?: boolean
}

/** Runs calls on one file, those on a stream in the order in which they were made. */
export class Runner {
  readonly #options: FileOptions
  readonly #clock: () => number
  readonly #thread: Thread
  readonly #turn = new Turn()
  /** The streams with writes in the worker, and how many. */
  readonly #away = new Map<string, number>()
  #waitingCalls = 0
  #waitingBytes = 0
  #file: LogFile | undefined
  #pages = 0
  #closed: Promise<void> | undefined

  constructor(options: FileOptions, clock: () => number) {
    this.#options = options
    this.#clock = clock
    this.#thread = new Thread(options)
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  async read<N extends ReadName>(name: N, ...args: Args<N>): Promise<Result<N>> {
    const call = this.#call(name, args)
    try {
      const result = this.#inline(call)
      const pause = this.#turn.pause()
      if (pause) await pause
      return result
    } catch (error) {
      if (!isBusy(error)) throw this.#failure(error)
      return this.#inWorker(call, 0)
    }
  }

  async write<N extends WriteName>(name: N, load: Load, ...args: Args<N>): Promise<Result<N>> {
    const call = this.#call(name, args)
    if (this.#belongsHere(load)) {
      try {
        const result = this.#inline(call)
        this.#wrote(load)
        const pause = this.#turn.pause()
        if (pause) await pause
        return result
      } catch (error) {
        if (!isBusy(error)) throw this.#failure(error)
      }
    }
    const { streamId } = load
    this.#away.set(streamId, (this.#away.get(streamId) ?? 0) + 1)
    try {
      const result = await this.#inWorker(call, load.bytes)
      this.#wrote(load)
      return result
    } finally {
      const left = (this.#away.get(streamId) ?? 1) - 1
      if (left === 0) this.#away.delete(streamId)
      else this.#away.set(streamId, left)
    }
  }

  /** Looks at the file at once; undefined where that cannot be. */
  peek<T>(look: (file: LogFile) => T): T | undefined {
    try {
      return look(this.#open())
    } catch {
      return undefined
    }
  }

  /** Lets go of the file after all that was asked. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    // Who closes last brings the write-ahead log into the file: that is the worker, if there is one.
    this.#file?.close()
    this.#file = undefined
    await this.#thread.close()
  }

  #call<N extends Name>(name: N, args: Args<N>): Call<N> {
    if (this.isClosed) throw new LogError('closed', 'the store was closed: open another')
    return { name, now: this.#clock(), args }
  }

  #belongsHere({ streamId, bytes, isLong = false }: Load): boolean {
    return this.#options.durability === 'normal' && !isLong && bytes <= INLINE_BYTES && !this.#away.has(streamId)
  }

  #inline<N extends Name>(call: Call<N>): Result<N> {
    const file = this.#open()
    return file.transaction(isWrite(call) ? 'write' : 'read', () => perform(file, call))
  }

  async #inWorker<N extends Name>(call: Call<N>, bytes: number): Promise<Result<N>> {
    if (this.#waitingCalls >= MAX_WAITING_CALLS || this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      const waiting = `${this.#waitingCalls} calls with ${this.#waitingBytes} bytes wait for the file already`
      throw new LogError('unavailable', `SQLite file ${this.#options.path}: ${waiting}: wait for their answers first`)
    }
    this.#waitingCalls++
    this.#waitingBytes += bytes
    try {
      return await this.#thread.call(call)
    } catch (error) {
      throw this.#failure(error)
    } finally {
      this.#waitingCalls--
      this.#waitingBytes -= bytes
    }
  }

  #open(): LogFile {
    if (this.#file === undefined) {
      this.#file = new LogFile(this.#options, 0)
      const left = statSync(`${this.#options.path}-wal`, { throwIfNoEntry: false })?.size ?? 0
      this.#pages = left / PAGE_BYTES
    }
    return this.#file
  }

  #wrote({ bytes, isLong = false }: Load): void {
    this.#pages += isLong ? 64 : 2 + bytes / PAGE_BYTES
    if (this.#pages < CHECKPOINT_PAGES) return
    this.#pages = 0
    if (!this.isClosed) this.#thread.checkpoint()
  }

  #failure(error: unknown): LogError {
    return logErrorOf(error, this.#options.path)
  }
}
