// A process that submits the answers of people and clients. It drives nothing.

import type { LogStore } from '@millrace/log'
import { createRuntime, type Runtime } from '../../index.ts'
import { Crowd } from '../crash/crowd.fixture.ts'
import { type Note, witnessed } from '../crash/ledger.fixture.ts'
import { SESSION } from '../crash/pond-program.fixture.ts'
import { PROGRAMS } from './played-programs.fixture.ts'
import { pointed } from './points.fixture.ts'
import { loggerOf, type Opening, type Told } from './process-messages.fixture.ts'

export class Front {
  readonly #store: LogStore
  readonly #runtime: Runtime
  readonly #crowd: Crowd
  readonly #say: (told: Told) => void
  readonly #leaving = new AbortController()
  readonly #following: Promise<void>

  constructor(store: LogStore, opening: Opening, note: Note, say: (told: Told) => void) {
    const { program, crowd } = opening
    this.#store = store
    this.#say = say
    this.#runtime = createRuntime({
      store: witnessed(pointed(store, opening, say), note, 'before'),
      // Output schemas of client tools are known here, too.
      agents: PROGRAMS[program].agents({ note: () => {} }),
      engine: false,
      logger: loggerOf(say),
    })
    this.#crowd = new Crowd({ voice: () => ({ runtime: this.#runtime }), ...crowd })
    this.#following = this.#follow().catch(cause => {
      if (!this.#leaving.signal.aborted)
        say({ kind: 'logged', level: 'error', message: 'it sees no more', cause: String(cause) })
    })
  }

  /** Answers all pendings. */
  answer(): void {
    this.#crowd.answer()
  }

  async close(): Promise<void> {
    await this.#crowd.idle()
    this.#leaving.abort()
    await this.#following
    await this.#runtime.close()
    await this.#store.close()
    const { given, problems } = this.#crowd
    this.#say({ kind: 'given', given, problems })
    this.#say({ kind: 'closed' })
  }

  async #follow(): Promise<void> {
    const { signal } = this.#leaving
    const options = { after: 0, follow: true, whole: true, internal: true, signal }
    const reader = await this.#runtime.manager.createResumableReader(SESSION, options)
    for await (const entry of reader) this.#crowd.take(entry)
  }
}
