// Runs the program with pendings on a real store in real time, with one driver after another. Each driver dies at one
// of its appends: its calls are not answered, its timers do not fire, and its lease expires at once.

import { type LogStore, systemTimers, type Timers } from '@millrace/log'
import { createRuntime, type Runtime } from '../../api/runtime.ts'
import { AnsweringClients, type AnsweringClientsOptions } from './answering-clients.fixture.ts'
import { APPROVALS_PROGRAM, approvalsAgents, OTHER_SESSION } from './approvals-program.fixture.ts'
import { Ledger, recordAppends, recordApprovals, type WriteLine } from './ledger.fixture.ts'
import { ReaderChecks } from './reader-checks.fixture.ts'
import { type RunRecord, verdict } from './run-verdict.fixture.ts'
import { type Program, SESSION } from './tools-program.fixture.ts'

/** A death at an append of a driver: before the store gets it, or after it is in the log and before the reply. */
export interface Death {
  readonly append: number
  readonly when: 'before' | 'after'
}

export interface PlayedRun {
  readonly violations: readonly string[]
  /** Number of appends of all drivers. */
  readonly appends: number
}

const SILENT = { warn() {}, error() {} }
const POLL_MS = 50
const DEADLINE_MS = 40
const CLAIM_MS = 10

/** The program with pendings and short deadlines. */
const QUICK_APPROVALS_PROGRAM: Program = {
  ...APPROVALS_PROGRAM,
  agents: options => approvalsAgents({ ...options, deadlineMs: DEADLINE_MS }),
}

/**
 * Runs one driver after another until the run has ended. Each death applies to the next driver. `undisturbed` is the
 * record of the same program without deaths, to which the result is compared.
 */
export async function playDeaths(
  store: LogStore,
  deaths: readonly Death[],
  answering: Pick<AnsweringClientsOptions, 'when' | 'makesMistakes'>,
  undisturbed?: RunRecord,
  program: Program = QUICK_APPROVALS_PROGRAM,
): Promise<PlayedRun> {
  const ledger = new Ledger()
  const base = recordApprovals(store, ledger.of('the log'), 'before')
  const { judge = verdict, clients: createClients = options => new AnsweringClients(options), runs } = program
  const agents = program.agents({ writeLine: () => {} })
  const apiRuntime = createRuntime({ store: base, agents, engine: false, logger: SILENT })
  const { manager } = apiRuntime
  for (const session of [SESSION, OTHER_SESSION]) await manager.deleteStream(session)
  const clients = createClients({ ...answering, pickProcess: () => ({ runtime: apiRuntime }), claimMs: CLAIM_MS })
  const readerChecks = new ReaderChecks()
  const processes: DyingProcess[] = []
  const next = () => {
    const process = new DyingProcess(`p${processes.length + 1}`, base, ledger, program, deaths[processes.length])
    processes.push(process)
    process.exited.then(() => {
      next()
      if (answering.when === 'on-fault') clients.answer()
    })
  }
  await program.ask(apiRuntime)
  next()
  const reading = { after: 0, follow: true, includeDiscarded: true, internal: true }
  for await (const entry of await manager.createResumableReader(SESSION, reading)) {
    readerChecks.onEntry(entry)
    clients.onEntry(entry)
    if (entry.chunk.type === 'run-finished') break
  }
  await clients.idle()
  const [status] = runs.map(runId => readerChecks.ended.get(runId))
  const { view } = await manager.view(SESSION)
  const entries = await manager.entries(SESSION, 0, view.head)
  for (const process of processes) await process.leave()
  await apiRuntime.close()
  const record = { entries, view, lines: ledger.lines, submitted: clients.submitted }
  return {
    violations: [
      ...clients.problems,
      ...(status === 'completed' ? [] : [`the run is ${status}`]),
      ...judge(record, undisturbed && { undisturbed }),
    ],
    appends: processes.reduce((total, { appends }) => total + appends, 0),
  }
}

/** A simulated process with one driver, which dies at one of its appends. After its death, its store calls never return. */
class DyingProcess {
  appends = 0
  readonly #exited = Promise.withResolvers<void>()
  readonly #store: LogStore
  readonly #death: Death | undefined
  readonly #runtime: Runtime
  readonly #watches = new Set<() => void>()
  #epoch: string | undefined
  #isAlive = true

  constructor(name: string, store: LogStore, ledger: Ledger, program: Program, death: Death | undefined) {
    this.#store = store
    this.#death = death
    const addLine = ledger.of(name)
    const writeLine: WriteLine = line => {
      if (!this.#isAlive) return
      if (line.kind === 'claimed') this.#epoch = line.epoch
      addLine(line)
    }
    const timers: Timers = {
      now: () => systemTimers.now(),
      after: (ms, fire, ...rest) => systemTimers.after(ms, () => this.#isAlive && fire(), ...rest),
    }
    this.#runtime = createRuntime({
      store: recordAppends(this.#dyingStore(), writeLine),
      agents: program.agents({ writeLine, timers }),
      workflows: program.workflows?.({ writeLine, timers }) ?? [],
      engine: { pollMs: POLL_MS },
      log: { owner: name },
      backoff: { firstMs: 1, longestMs: 5 },
      maxTakeovers: 100,
      timers,
      logger: SILENT,
    })
  }

  /** Resolves when it has died and its lease has expired. */
  get exited(): Promise<void> {
    return this.#exited.promise
  }

  async leave(): Promise<void> {
    if (this.#isAlive) await this.#runtime.close()
  }

  #dyingStore(): LogStore {
    return new Proxy(this.#store, {
      get: (target, name: keyof LogStore) => {
        const value = target[name] as unknown
        if (typeof value !== 'function') return value
        const method = value.bind(target) as (...args: unknown[]) => unknown
        if (name === 'watch') return (id: string, wake: () => void) => this.#watch(method(id, wake) as () => void)
        return (...args: unknown[]) => this.#call(name, args, method)
      },
    })
  }

  #watch(stop: () => void): () => void {
    this.#watches.add(stop)
    return stop
  }

  async #call(name: string, args: unknown[], method: (...args: unknown[]) => unknown): Promise<unknown> {
    if (!this.#isAlive) return never()
    const isOwn = name === 'append' && 'epoch' in (args[2] as object)
    const { append, when } = this.#death ?? {}
    const isLast = isOwn && ++this.appends === append
    if (isLast && when === 'before') return this.#die()
    const result = await method(...args)
    if (!this.#isAlive) return never()
    return isLast ? this.#die() : result
  }

  async #die(): Promise<never> {
    this.#isAlive = false
    for (const stop of this.#watches) stop()
    if (this.#epoch !== undefined) await this.#store.release(SESSION, this.#epoch)
    this.#exited.resolve()
    return never()
  }
}

const never = (): Promise<never> => new Promise(() => {})
