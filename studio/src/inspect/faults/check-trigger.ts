import type { SessionLog } from '@millrace/client/log'

const END_TYPES: ReadonlySet<string> = new Set(['run-finished', 'run-paused'])

/** Decides when to verify: after the end of a run and after a reconnect. Reads each entry once. */
export class CheckTrigger {
  readonly #log: SessionLog
  #entries: SessionLog['entries']
  #checked = 0
  #wasLive = false

  constructor(log: SessionLog) {
    this.#log = log
    this.#entries = log.entries
  }

  /** Whether a verification is due since the last call. */
  isDue(): boolean {
    const { entries, state } = this.#log
    // A log that restarts has a new array.
    if (entries !== this.#entries) this.#checked = 0
    this.#entries = entries
    const isLive = state.status === 'live'
    let isDue = isLive && !this.#wasLive
    this.#wasLive = isLive
    for (; this.#checked < state.count; this.#checked++)
      isDue ||= END_TYPES.has(entries[this.#checked]?.chunk.type ?? '')
    return isDue
  }
}
