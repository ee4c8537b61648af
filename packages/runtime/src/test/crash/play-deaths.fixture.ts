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

/** Runs one driver after another until the run has ended. Each death applies to the next driver. */
export async function playDeaths(
  store: LogStore,
  deaths: readonly Death[],
  manner: Pick<AnsweringClientsOptions, 'when' | 'errs'>,
  undisturbed?: RunRecord,
  program: Program = QUICK_APPROVALS_PROGRAM,
): Promise<PlayedRun> {
  const ledger = new Ledger()
  const base = recordApprovals(store, ledger.of('the log'), 'before')
  const { judge = verdict, clients: make = options => new AnsweringClients(options), runs } = program
  const agents = program.agents({ note: () => {} })
  const apiRuntime = createRuntime({ store: base, agents, engine: false, logger: SILENT })
  const { manager } = apiRuntime
  for (const session of [SESSION, OTHER_SESSION]) await manager.deleteStream(session)
  const clients = make({ ...manner, pickProcess: () => ({ runtime: apiRuntime }), claimMs: CLAIM_MS })
  const story = new ReaderChecks()
  const lives: DyingProcess[] = []
  const next = () => {
    const life = new DyingProcess(`p${lives.length + 1}`, base, ledger, program, deaths[lives.length])
    lives.push(life)
    life.exited.then(() => {
      next()
      if (manner.when === 'told') clients.answer()
    })
  }
  await program.ask(apiRuntime)
  next()
  const reading = { after: 0, follow: true, whole: true, internal: true }
  for await (const entry of await manager.createResumableReader(SESSION, reading)) {
    story.onEntry(entry)
    clients.onEntry(entry)
    if (entry.chunk.type === 'run-finished') break
  }
  await clients.idle()
  const [status] = runs.map(runId => story.ended.get(runId))
  const { view } = await manager.view(SESSION)
  const entries = await manager.entries(SESSION, 0, view.head)
  for (const life of lives) await life.leave()
  await apiRuntime.close()
  const happened = { entries, view, lines: ledger.lines, submitted: clients.submitted }
  return {
    violations: [
      ...clients.problems,
      ...(status === 'completed' ? [] : [`the run is ${status}`]),
      ...judge(happened, undisturbed && { undisturbed }),
    ],
    appends: lives.reduce((all, { appends }) => all + appends, 0),
  }
}

/** A process, as a store sees it. */
class DyingProcess {
  appends = 0
  readonly #gone = Promise.withResolvers<void>()
  readonly #store: LogStore
  readonly #death: Death | undefined
  readonly #runtime: Runtime
  readonly #watches = new Set<() => void>()
  #epoch: string | undefined
  #isAlive = true

  constructor(name: string, store: LogStore, ledger: Ledger, program: Program, death: Death | undefined) {
    this.#store = store
    this.#death = death
    const write = ledger.of(name)
    const note: WriteLine = line => {
      if (!this.#isAlive) return
      if (line.kind === 'claimed') this.#epoch = line.epoch
      write(line)
    }
    const timers: Timers = {
      now: () => systemTimers.now(),
      after: (ms, ring, ...rest) => systemTimers.after(ms, () => this.#isAlive && ring(), ...rest),
    }
    this.#runtime = createRuntime({
      store: recordAppends(this.#mortal(), note),
      agents: program.agents({ note, timers }),
      workflows: program.workflows?.({ note, timers }) ?? [],
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
    return this.#gone.promise
  }

  async leave(): Promise<void> {
    if (this.#isAlive) await this.#runtime.close()
  }

  #mortal(): LogStore {
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
    this.#gone.resolve()
    return never()
  }
}

const never = (): Promise<never> => new Promise(() => {})
