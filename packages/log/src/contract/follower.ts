import type { LogStore, Page } from '../store/log-store.ts'
import { seen } from './assert.ts'
import type { Trial } from './trial.ts'

/** Number of waits that add up to the timeout. */
const WAITS = 50

/** A reader that reads its log only when it is woken. */
export class Follower {
  /** Number of wake-ups. */
  wakes = 0
  readonly stop: () => void
  readonly #look: () => Promise<Page | undefined>
  readonly #timeoutMs: number
  #page: Page | undefined
  #looked = false
  #looking = false
  #again = false
  #failed: unknown
  #changed: () => void = () => {}

  constructor(trial: Trial, store: LogStore, streamId: string) {
    this.#timeoutMs = trial.timeoutMs
    this.#look = () => trial.available(() => store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 1 }))
    this.stop = store.watch(streamId, () => this.#woken())
  }

  #woken(): void {
    this.wakes++
    this.#again = true
    if (!this.#looking) void this.#run()
  }

  async #run(): Promise<void> {
    this.#looking = true
    try {
      while (this.#again) {
        this.#again = false
        this.#page = await this.#look()
        this.#looked = true
        this.#changed()
      }
    } catch (error) {
      this.#failed = error
      this.#changed()
    } finally {
      this.#looking = false
    }
  }

  /** Waits until a read on a wake-up matches. @throws if none does within the timeout */
  async sees(label: string, shows: (page: Page | undefined) => boolean): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const missed = () => reject(seen(`no wake-up showed ${label}; ${this.wakes} came within ${this.#timeoutMs} ms`))
      // Many short waits: a frozen process has not waited, and pending wake-ups run first.
      const wait = (left: number) => {
        timer = setTimeout(() => (left > 1 ? wait(left - 1) : missed()), this.#timeoutMs / WAITS)
      }
      wait(WAITS)
    })
    try {
      while (!(this.#looked && shows(this.#page))) {
        if (this.#failed !== undefined) throw this.#failed
        const change = new Promise<void>(resolve => {
          this.#changed = resolve
        })
        await Promise.race([change, late])
      }
    } finally {
      clearTimeout(timer)
      late.catch(() => {})
    }
  }
}
