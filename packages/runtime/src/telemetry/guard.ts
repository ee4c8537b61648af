import type { Logger } from './logger.ts'

/** Calls telemetry code that may fail. Never throws, and logs each kind of failure once. */
export class Guard {
  readonly #logger: Logger
  readonly #warned = new Set<string>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** The result of an action; undefined if it throws. */
  attempt<T>(operation: string, action: () => T): T | undefined {
    try {
      return action()
    } catch (error) {
      this.warnOnce(operation, error)
      return undefined
    }
  }

  warnOnce(operation: string, cause: unknown): void {
    if (this.#warned.has(operation)) return
    this.#warned.add(operation)
    this.#logger.warn('telemetry failed: runs continue, and this kind of failure is logged once', {
      operation,
      cause,
    })
  }
}
