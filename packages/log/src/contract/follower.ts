import type { LogStore, Page } from '../store/log-store.ts'
import { assertionError } from './assert.ts'
import type { Trial } from './trial.ts'

/** Number of waits that add up to the timeout. */
const WAIT_COUNT = 50

/** A reader that reads its log only when it is woken, unless the wake-up names a head that it has read. */
export class Follower {
  /** Number of wake-ups. */
  wakes = 0
  readonly stop: () => void
  readonly #read: () => Promise<Page | undefined>
  readonly #timeoutMs: number
  #page: Page | undefined
  #hasRead = false
  #isReading = false
  #isDirty = false
  #error: unknown
  #onRead: () => void = () => {}

  constructor(trial: Trial, store: LogStore, streamId: string) {
    this.#timeoutMs = trial.timeoutMs
    this.#read = () => trial.available(() => store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 1 }))
    this.stop = store.watch(streamId, head => this.#onWake(head))
  }

  #onWake(head?: number): void {
    this.wakes++
    if (head !== undefined && this.#page !== undefined && head <= this.#page.head) return
    this.#isDirty = true
    if (!this.#isReading) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isReading = true
    try {
      while (this.#isDirty) {
        this.#isDirty = false
        this.#page = await this.#read()
        this.#hasRead = true
        this.#onRead()
      }
    } catch (error) {
      this.#error = error
      this.#onRead()
    } finally {
      this.#isReading = false
    }
  }

  /** Waits until a read on a wake-up matches. @throws if none does within the timeout */
  async sees(label: string, matches: (page: Page | undefined) => boolean): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const onTimeout = () =>
        reject(
          assertionError(
            `expected a wake-up that shows ${label}, found ${this.wakes} others within ${this.#timeoutMs} ms: check watch`,
          ),
        )
      // Many short waits: a frozen process has not waited, and pending wake-ups run first.
      const wait = (left: number) => {
        timer = setTimeout(() => (left > 1 ? wait(left - 1) : onTimeout()), this.#timeoutMs / WAIT_COUNT)
      }
      wait(WAIT_COUNT)
    })
    try {
      while (!(this.#hasRead && matches(this.#page))) {
        if (this.#error !== undefined) throw this.#error
        const change = new Promise<void>(resolve => {
          this.#onRead = resolve
        })
        await Promise.race([change, late])
      }
    } finally {
      clearTimeout(timer)
      late.catch(() => {})
    }
  }
}
