// A process that submits the answers of people and clients. It drives nothing.

import type { LogStore } from '@millrace/log'
import { createRuntime, type Runtime } from '../../index.ts'
import { AnsweringClients } from '../crash/answering-clients.fixture.ts'
import { recordApprovals, type WriteLine } from '../crash/ledger.fixture.ts'
import { SESSION } from '../crash/tools-program.fixture.ts'
import { loggerOf, type Opening, type ProcessMessage } from './process-messages.fixture.ts'
import { PROGRAMS } from './programs.fixture.ts'
import { storeWithPoints } from './store-points.fixture.ts'

export class AnsweringProcess {
  readonly #store: LogStore
  readonly #runtime: Runtime
  readonly #clients: AnsweringClients
  readonly #report: (message: ProcessMessage) => void
  readonly #reader = new AbortController()
  readonly #readerDone: Promise<void>

  constructor(store: LogStore, opening: Opening, writeLine: WriteLine, report: (message: ProcessMessage) => void) {
    const { program, clients } = opening
    this.#store = store
    this.#report = report
    this.#runtime = createRuntime({
      store: recordApprovals(storeWithPoints(store, opening, report), writeLine, 'before'),
      // Output schemas of client tools are known here, too.
      agents: PROGRAMS[program].agents({ writeLine: () => {} }),
      engine: false,
      logger: loggerOf(report),
    })
    this.#clients = new AnsweringClients({ pickProcess: () => ({ runtime: this.#runtime }), ...clients })
    this.#readerDone = this.#follow().catch(cause => {
      if (!this.#reader.signal.aborted)
        report({ kind: 'logged', level: 'error', message: 'it sees no more', cause: String(cause) })
    })
  }

  /** Answers all pendings. */
  answer(): void {
    this.#clients.answer()
  }

  async close(): Promise<void> {
    await this.#clients.idle()
    this.#reader.abort()
    await this.#readerDone
    await this.#runtime.close()
    await this.#store.close()
    const { submitted, problems } = this.#clients
    this.#report({ kind: 'submitted', submitted, problems })
    this.#report({ kind: 'closed' })
  }

  async #follow(): Promise<void> {
    const { signal } = this.#reader
    const options = { after: 0, follow: true, includeDiscarded: true, internal: true, signal }
    const reader = await this.#runtime.manager.createResumableReader(SESSION, options)
    for await (const entry of reader) this.#clients.onEntry(entry)
  }
}
