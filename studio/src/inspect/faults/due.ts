import type { SessionLog } from '@millrace/client/log'

const ENDS: ReadonlySet<string> = new Set(['run-finished', 'run-paused'])

/** Tells when what a log amounts to is worth comparing: each time that a run has ended, and that its connection is back. Each entry is looked at once. */
export class Due {
  readonly #log: SessionLog
  #entries: SessionLog['entries']
  #seen = 0
  #wasLive = false

  constructor(log: SessionLog) {
    this.#log = log
    this.#entries = log.entries
  }

  /** Whether it is so since the last look. */
  look(): boolean {
    const { entries, state } = this.#log
    // A log that begins anew has another array.
    if (entries !== this.#entries) this.#seen = 0
    this.#entries = entries
    const isLive = state.status === 'live'
    let isDue = isLive && !this.#wasLive
    this.#wasLive = isLive
    for (; this.#seen < state.count; this.#seen++) isDue ||= ENDS.has(entries[this.#seen]?.chunk.type ?? '')
    return isDue
  }
}
