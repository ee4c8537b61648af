// Serializes the commits of a run, so that each is based on the previous one.

import type { Session } from './session.ts'

export class CommitLock {
  readonly #session: Session
  #last: Promise<unknown> = Promise.resolve()

  constructor(session: Session) {
    this.#session = session
  }

  /** Runs a commit that is built from the session. It starts with the current session. */
  run<T>(commit: () => Promise<T>): Promise<T> {
    const done = this.#last.then(() => this.#session.current()).then(commit)
    // The next commit runs even if this one fails.
    this.#last = done.catch(() => {})
    return done
  }

  /** Resolves when all commits so far have ended. */
  async idle(): Promise<void> {
    await this.#last
  }
}
