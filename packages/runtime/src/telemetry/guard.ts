import type { Logger } from './logger.ts'

/** Does what may fail on behalf of who only watches: nothing of it is thrown, and each kind of failure is told once. */
export class Guard {
  readonly #logger: Logger
  readonly #told = new Set<string>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** What an action gives; undefined where it fails. */
  attempt<T>(what: string, action: () => T): T | undefined {
    try {
      return action()
    } catch (error) {
      this.warnOnce(what, error)
      return undefined
    }
  }

  warnOnce(what: string, cause: unknown): void {
    if (this.#told.has(what)) return
    this.#told.add(what)
    this.#logger.warn('telemetry failed: runs go on, and this is said once', { what, cause })
  }
}
