// When what waits goes out: at once, or for deltas that come close to others after a while; one thing at a time, in the order in which it was asked for.

import { LogError } from '../store/log-error.ts'
import type { Timers } from '../store/timers.ts'
import type { Draft } from './drafts.ts'
import { Queue } from './queue.ts'
import type { Slot } from './slot.ts'

/** The most of the queue that goes out in one append. */
const LOAD_BYTES = 1024 * 1024
/** Writes that nobody waits for may exceed the queue's bound by this factor before they are refused (law 8). */
const HARD = 16

export interface WriteQueueSettings {
  readonly timers: Timers
  readonly coalesceMs: number
  readonly queueBytes: number
  readonly maxEntryBytes: number
  readonly maxBatchBytes: number
}

/** Who carries what goes out. */
export interface QueueSender {
  /** Whether a slot may go out together with others. */
  mayJoin(slot: Slot): boolean
  /** Sends slots in one append, and tells them what became of them; throws where nothing more can be sent. */
  send(slots: readonly Slot[]): Promise<void>
  /** Nothing more can be sent. */
  stop(error: unknown): void
}

export class WriteQueue {
  readonly #settings: WriteQueueSettings
  readonly #sender: QueueSender
  readonly #queue = new Queue()
  readonly #loadBytes: number
  #sentAt = Number.NEGATIVE_INFINITY
  #isBusy = false
  #cancelTimer: (() => void) | undefined
  #room: PromiseWithResolvers<void> | undefined

  constructor(settings: WriteQueueSettings, sender: QueueSender) {
    this.#settings = settings
    this.#sender = sender
    // All deltas of a load may become one entry.
    this.#loadBytes = Math.min(LOAD_BYTES, settings.maxEntryBytes, settings.maxBatchBytes)
  }

  /** Says that something goes out: deltas that follow soon wait for each other. */
  sent(): void {
    this.#sentAt = this.#settings.timers.now()
  }

  /** Throws where so much waits that nothing more may. */
  mustHaveRoom(): void {
    const { bytes } = this.#queue
    if (bytes <= this.#settings.queueBytes * HARD) return
    throw new LogError('queue-full', `${bytes} bytes wait to be appended: await each write`)
  }

  /** Lets a slot wait for its time. */
  push(slot: Slot): void {
    this.#queue.push(slot)
    this.#pump()
  }

  /** Does something after all that was asked for before, and before all that is asked for after. */
  turn<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#queue.push({ take: () => work().then(resolve, reject), fail: reject })
    this.#pump()
    return promise
  }

  /** Takes back what still waits of a draft. */
  drop(draft: Draft): void {
    this.#queue.drop(draft)
    this.#makeRoom()
  }

  /** When there is room again; undefined where there is. */
  roomIn(): Promise<void> | undefined {
    if (this.#queue.bytes <= this.#settings.queueBytes) return undefined
    this.#room ??= Promise.withResolvers()
    // Who does not await the write does not hear of it here; the writer's signal tells.
    this.#room.promise.catch(() => {})
    return this.#room.promise
  }

  /** Sends no more, and tells everybody who waits. */
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
    const left = this.#waitLeft()
    if (left > 0) {
      this.#cancelTimer ??= timers.after(left, () => this.#start())
      return
    }
    this.#start()
  }

  /** How long what waits may wait on. */
  #waitLeft(): number {
    const { timers, coalesceMs, queueBytes } = this.#settings
    const mayWait = this.#queue.isWaiting && this.#queue.bytes <= queueBytes
    return mayWait ? this.#sentAt + coalesceMs - timers.now() : 0
  }

  #start(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#isBusy = true
    void this.#work()
  }

  async #work(): Promise<void> {
    try {
      // What is asked for in the same breath goes out together.
      await undefined
      let isMore: boolean
      do isMore = await this.#next()
      while (!this.#queue.isEmpty && (isMore || this.#waitLeft() <= 0))
    } catch (error) {
      this.#sender.stop(error)
    }
    this.#isBusy = false
    this.#pump()
  }

  /** Takes what comes next; tells whether some of what had waited as long is left. */
  async #next(): Promise<boolean> {
    const turn = this.#queue.takeTurn()
    if (turn) {
      await turn.take()
      return false
    }
    const slots = this.#queue.takeSlots(this.#loadBytes, slot => this.#sender.mayJoin(slot))
    const isMore = !this.#queue.isEmpty
    this.#makeRoom()
    if (slots.length > 0) await this.#sender.send(slots)
    return isMore
  }
}
