// A process that submits the answers of people and clients. It drives nothing.

import type { LogStore } from '@millrace/log'
import { createRuntime, type Runtime } from '../../index.ts'
import { AnsweringClients } from '../crash/answering-clients.fixture.ts'
import { recordApprovals, type WriteLine } from '../crash/ledger.fixture.ts'
import { SESSION } from '../crash/tools-program.fixture.ts'
import { PROGRAMS } from './played-programs.fixture.ts'
import { loggerOf, type Opening, type ProcessMessage } from './process-messages.fixture.ts'
import { storeWithPoints } from './store-points.fixture.ts'

export class AnsweringProcess {
  readonly #store: LogStore
  readonly #runtime: Runtime
  readonly #clients: AnsweringClients
  readonly #say: (message: ProcessMessage) => void
  readonly #leaving = new AbortController()
  readonly #following: Promise<void>

  constructor(store: LogStore, opening: Opening, note: WriteLine, report: (message: ProcessMessage) => void) {
    const { program, clients } = opening
    this.#store = store
    this.#say = report
    this.#runtime = createRuntime({
      store: recordApprovals(storeWithPoints(store, opening, report), note, 'before'),
      // Output schemas of client tools are known here, too.
      agents: PROGRAMS[program].agents({ note: () => {} }),
      engine: false,
      logger: loggerOf(report),
    })
    this.#clients = new AnsweringClients({ pickProcess: () => ({ runtime: this.#runtime }), ...clients })
    this.#following = this.#follow().catch(cause => {
      if (!this.#leaving.signal.aborted)
        report({ kind: 'logged', level: 'error', message: 'it sees no more', cause: String(cause) })
    })
  }

  /** Answers all pendings. */
  answer(): void {
    this.#clients.answer()
  }

  async close(): Promise<void> {
    await this.#clients.idle()
    this.#leaving.abort()
    await this.#following
    await this.#runtime.close()
    await this.#store.close()
    const { submitted, problems } = this.#clients
    this.#say({ kind: 'submitted', submitted, problems })
    this.#say({ kind: 'closed' })
  }

  async #follow(): Promise<void> {
    const { signal } = this.#leaving
    const options = { after: 0, follow: true, whole: true, internal: true, signal }
    const reader = await this.#runtime.manager.createResumableReader(SESSION, options)
    for await (const entry of reader) this.#clients.onEntry(entry)
  }
}
