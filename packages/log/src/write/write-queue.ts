// Decides when queued slots are sent: at once, or after `coalesceMs` for deltas that follow an append. One append at
// a time, in order.

import { LogError } from '../store/log-error.ts'
import type { Timers } from '../store/timers.ts'
import type { Draft } from './drafts.ts'
import { Queue } from './queue.ts'
import type { Slot, WriteSlot } from './slot.ts'

/** Maximum size of one append from the queue, in bytes. */
const MAX_APPEND_BYTES = 1024 * 1024
/** Writes that the caller does not await may exceed `queueBytes` by this factor before they are rejected (law 8). */
const HARD_LIMIT_FACTOR = 16

export interface WriteQueueSettings {
  readonly timers: Timers
  readonly coalesceMs: number
  readonly queueBytes: number
  readonly maxEntryBytes: number
  readonly maxBatchBytes: number
}

/** Sends the slots. */
export interface QueueSender {
  /** Whether a slot may be sent together with others. */
  mayJoin(slot: Slot): boolean
  /** Sends slots in one append, and settles them. Throws if nothing more can be sent. */
  send(slots: readonly Slot[]): Promise<void>
  /** Nothing more can be sent. */
  stop(error: unknown): void
}

export class WriteQueue {
  readonly #settings: WriteQueueSettings
  readonly #sender: QueueSender
  readonly #queue = new Queue()
  readonly #maxAppendBytes: number
  #sentAt = Number.NEGATIVE_INFINITY
  #isBusy = false
  #cancelTimer: (() => void) | undefined
  #room: PromiseWithResolvers<void> | undefined

  constructor(settings: WriteQueueSettings, sender: QueueSender) {
    this.#settings = settings
    this.#sender = sender
    // All deltas of one append may become one entry.
    this.#maxAppendBytes = Math.min(MAX_APPEND_BYTES, settings.maxEntryBytes, settings.maxBatchBytes)
  }

  /** Records that an append is sent: deltas that follow soon wait for each other. */
  sent(): void {
    this.#sentAt = this.#settings.timers.now()
  }

  /** @throws LogError `queue-full` */
  mustHaveRoom(): void {
    const { bytes } = this.#queue
    if (bytes <= this.#settings.queueBytes * HARD_LIMIT_FACTOR) return
    throw new LogError('queue-full', `${bytes} bytes wait to be appended: await each write`)
  }

  /** Queues a slot. */
  push(slot: Slot): void {
    this.#queue.push(slot)
    this.#pump()
  }

  /** Runs work exclusively, after everything queued before and before everything queued after. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#queue.push({ run: () => work().then(resolve, reject), fail: reject })
    this.#pump()
    return promise
  }

  /** The queued chunks of these drafts. */
  slotsOf(drafts: readonly Draft[]): readonly WriteSlot[] {
    return drafts.length === 0 ? [] : this.#queue.slotsOf(new Set(drafts))
  }

  /** Drops the queued chunks of a draft. */
  drop(draft: Draft): void {
    this.#queue.drop(draft)
    this.#makeRoom()
  }

  /** Resolves when the queue has room; undefined if it has. */
  whenRoom(): Promise<void> | undefined {
    if (this.#queue.bytes <= this.#settings.queueBytes) return undefined
    this.#room ??= Promise.withResolvers()
    // A caller that does not await the write learns of the failure from the writer's signal.
    this.#room.promise.catch(() => {})
    return this.#room.promise
  }

  /** Sends nothing more, and rejects everything queued. */
  close(error: unknown): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#queue.fail(error)
    this.#room?.reject(error)
  }

  #makeRoom(): void {
    if (this.#queue.bytes > this.#settings.queueBytes) return
    this.#room?.resolve()
    this.#room = undefined
  }

  #pump(): void {
    if (this.#isBusy || this.#queue.isEmpty) return
    const { timers } = this.#settings
    const delay = this.#delayMs()
    if (delay > 0) {
      this.#cancelTimer ??= timers.after(delay, () => this.#start())
      return
    }
    this.#start()
  }

  /** How long the queue may still wait, in ms. */
  #delayMs(): number {
    const { timers, coalesceMs, queueBytes } = this.#settings
    const mayWait = this.#queue.mayWait && this.#queue.bytes <= queueBytes
    return mayWait ? this.#sentAt + coalesceMs - timers.now() : 0
  }

  #start(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#isBusy = true
    void this.#run()
  }

  async #run(): Promise<void> {
    try {
      // Slots pushed in the same microtask are sent together.
      await undefined
      let hasMore: boolean
      do hasMore = await this.#next()
      while (!this.#queue.isEmpty && (hasMore || this.#delayMs() <= 0))
    } catch (error) {
      this.#sender.stop(error)
    }
    this.#isBusy = false
    this.#pump()
  }

  /** Sends the next slots or runs the next turn. Returns whether slots are left that were queued at the same time. */
  async #next(): Promise<boolean> {
    const turn = this.#queue.takeTurn()
    if (turn) {
      await turn.run()
      return false
    }
    const slots = this.#queue.takeSlots(this.#maxAppendBytes, slot => this.#sender.mayJoin(slot))
    const hasMore = !this.#queue.isEmpty
    this.#makeRoom()
    if (slots.length > 0) await this.#sender.send(slots)
    return hasMore
  }
}
