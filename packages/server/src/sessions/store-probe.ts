// Whether the store accepts writes, for health checks. However many checks arrive, one probe runs at a time, and its
// result is used for some seconds.

import type { LogStore, Timers } from '@millrace/log'
import { MillraceError } from '@millrace/runtime'

/** Time for which a successful probe counts, in ms. */
export const PROBE_MS = 5_000
/** Time for which a failed probe counts, in ms: recovery is noticed soon. */
const FAILED_PROBE_MS = 1_000

/** Probes writes of a store. */
export class StoreProbe {
  readonly #store: LogStore
  readonly #timers: Timers
  #latest: { readonly result: Promise<void>; validUntil: number } | undefined

  constructor(store: LogStore, timers: Timers) {
    this.#store = store
    this.#timers = timers
  }

  /** Resolves if the store accepts writes, or cannot probe them. @throws `store_unavailable` */
  check(): Promise<void> {
    const latest = this.#latest
    if (latest && this.#timers.now() < latest.validUntil) return latest.result
    const result = this.#probe()
    // Until it is done, all checks share it.
    const probe = { result, validUntil: Number.POSITIVE_INFINITY }
    this.#latest = probe
    const keepFor = (ms: number) => {
      probe.validUntil = this.#timers.now() + ms
    }
    result.then(
      () => keepFor(PROBE_MS),
      () => keepFor(FAILED_PROBE_MS),
    )
    return result
  }

  async #probe(): Promise<void> {
    try {
      await this.#store.probeWrite?.()
    } catch (cause) {
      const message = 'the store refuses writes, for example because its disk is full: see the log of the server'
      throw new MillraceError('store_unavailable', message, { retryable: true, cause })
    }
  }
}
