// The harness of a schedule: a store, its processes, their reports, and ways to wait for them. Moments are counted in reports, never
// in time. Time limits only say when to give up.

import { type FaultProxy, proxy } from '../../../../../scripts/faults/proxy.ts'
import type { Service } from '../../../../../scripts/services/server.ts'
import { StreamManager } from '../../manager/stream-manager.ts'
import type { LogStore } from '../../store/log-store.ts'
import { ReportedLog, ReportedReader } from './fault-record.fixture.ts'
import { followLog } from './readers-and-guests.fixture.ts'
import type { Run, RunPlan } from './store-process-messages.fixture.ts'
import { type ReceivedMessage, StoreProcess, type StoreProcessPool } from './store-process-pool.fixture.ts'
import { openStoreSpec, type StoreSpec } from './store-spec.fixture.ts'

/** Longer than any lease and than the delays of a loaded machine, in ms. */
const GIVE_UP_MS = 120_000

/** The store of a schedule. */
export interface TestStore {
  /** The store, reached directly. */
  readonly spec: StoreSpec
  /** Only for a store with a server. */
  readonly service?: Service
  /** How many ms of acknowledged appends a crash of the server may lose, as documented. */
  readonly maxLossMs: number
}

/** The tag of the test process. */
const TEST_TAG = 'test'

interface PendingWait {
  isReached(): boolean
  resolve(): void
  reject(error: unknown): void
}

export class FaultHarness {
  readonly testStore: TestStore
  readonly name: string
  killedServers = 0
  /** The applied faults, one line each. */
  readonly notes: string[] = []
  readonly records = new Map<string, ReportedLog>()
  readonly readers = new Map<string, ReportedReader>()
  /** Other reports, by process. */
  readonly events: (ReceivedMessage & { readonly by: string })[] = []
  readonly #processes: StoreProcessPool
  readonly #seed: number
  readonly #actors: StoreProcess[] = []
  readonly #proxies: FaultProxy[] = []
  readonly #pendingWaits = new Set<PendingWait>()
  /** Processes that may lose their writer, with the allowed reasons. */
  readonly #mayLose = new Map<string, readonly string[]>()
  readonly #closing = new AbortController()
  #local: { store: LogStore; manager: StreamManager; reading: AbortController } | undefined
  #failure: { error: unknown } | undefined

  constructor(name: string, seed: number, testStore: TestStore, processes: StoreProcessPool) {
    this.name = name
    this.testStore = testStore
    this.#seed = seed
    this.#processes = processes
  }

  /** Notes an action, for the report of a failure. */
  note(text: string): void {
    this.notes.push(text)
  }

  /** A run on a new log. */
  run(name = 'log'): Run {
    const streamId = `${this.name}-${name}`
    const run = { streamId, runId: `run-${name}`, program: `agent:${this.name}@1` }
    this.records.set(streamId, new ReportedLog(run))
    return run
  }

  record({ streamId }: { streamId: string }): ReportedLog {
    return this.records.get(streamId) as ReportedLog
  }

  /** A process with the store open. */
  async actor(options: { spec?: StoreSpec; plan?: Partial<RunPlan>; leaseMs?: number } = {}): Promise<StoreProcess> {
    const tag = `p${this.#actors.length + 1}`
    const actor = new StoreProcess(tag, this.#processes.take(), this.#onMessage, error => this.#fail(error))
    this.#actors.push(actor)
    await this.open(actor, options)
    return actor
  }

  async open(
    actor: StoreProcess,
    options: { spec?: StoreSpec; plan?: Partial<RunPlan>; leaseMs?: number } = {},
  ): Promise<void> {
    const { spec = this.testStore.spec, leaseMs = 30_000 } = options
    const plan = { seed: this.#seed, questionRate: 0, releasesWhileWaiting: false, outputLength: 20, ...options.plan }
    // A process that is opened again must not write the same tokens again.
    const tag = `${actor.tag}${'i'.repeat(actor.opened++)}`
    await actor.order({ do: 'open', tag, store: spec, plan, leaseMs })
  }

  /** A proxy in front of the server. */
  async startProxy(): Promise<FaultProxy> {
    const started = await proxy((this.testStore.spec as { url: string }).url)
    this.#proxies.push(started)
    return started
  }

  /** The store through a proxy. */
  via(faultProxy: FaultProxy, more: Partial<StoreSpec> = {}): StoreSpec {
    const { spec } = this.testStore
    return { ...spec, url: faultProxy.url((spec as { url: string }).url), ...more } as StoreSpec
  }

  /** Starts a reader at the beginning of a log, in a process or in the test process. */
  async startReader({ streamId }: Run, actor?: StoreProcess): Promise<ReportedReader> {
    const reader = new ReportedReader(`r${this.readers.size + 1}`, streamId)
    this.readers.set(reader.name, reader)
    await this.resume(reader, actor)
    return reader
  }

  /** Resumes a reader from its last cursor, in a process or in the test process. */
  async resume(reader: ReportedReader, actor?: StoreProcess): Promise<void> {
    reader.actor = actor
    const { name, streamId } = reader
    const { cursor } = reader.current
    if (actor) return actor.order({ do: 'read', reader: name, streamId, after: cursor })
    const { manager, reading } = await this.localStore()
    void followLog(manager, name, streamId, cursor, reading.signal, async message =>
      this.#onMessage(undefined, { ...message, at: 0 }),
    )
  }

  /** The store of the test itself, with timeouts that do not depend on the load of the machine. */
  get patientSpec(): StoreSpec {
    const { spec } = this.testStore
    return 'timeoutMs' in spec ? { ...spec, timeoutMs: 60_000 } : spec
  }

  /** The open store of the test process. */
  async localStore(): Promise<{ store: LogStore; manager: StreamManager; reading: AbortController }> {
    const store = this.#local?.store ?? (await openStoreSpec(this.patientSpec))
    this.#local ??= { store, manager: new StreamManager({ store }), reading: new AbortController() }
    return this.#local
  }

  /** Closes the store in the test process. Its readers can be resumed. */
  async closeLocalStore(): Promise<void> {
    const local = this.#local
    this.#local = undefined
    local?.reading.abort()
    await local?.store.close()
  }

  /** Waits until the condition holds for the reports. */
  until(event: string, isReached: () => boolean): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure.error)
    if (isReached()) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const timeout = setTimeout(
        () => end(() => reject(new Error(`gave up waiting until ${event}: ${this.#state()}`))),
        GIVE_UP_MS,
      )
      const end = (settle: () => void) => {
        clearTimeout(timeout)
        this.#pendingWaits.delete(waiting)
        settle()
      }
      const waiting = { isReached, resolve: () => end(resolve), reject: (error: unknown) => end(() => reject(error)) }
      this.#pendingWaits.add(waiting)
    })
  }

  /** Waits until every process has reported all answers so far. The first query may overtake an answer, the second may not. */
  async messagesReceived(): Promise<void> {
    for (let times = 0; times < 2; times++) {
      await Promise.all(this.#actors.filter(({ isGone }) => !isGone).map(actor => actor.sync()))
    }
  }

  /** Waits for this many more acknowledged appends. */
  async waitForAcks(run: Run, more: number): Promise<void> {
    const { acks } = this.record(run)
    const to = acks.length + more
    await this.until(`${more} more appends to ${run.streamId} are acknowledged`, () => acks.length >= to)
  }

  /** Allows a process to lose its writer for these reasons. Any other reason is a failure. */
  allow(actor: StoreProcess, ...codes: string[]): void {
    this.#mayLose.set(actor.tag, [...(this.#mayLose.get(actor.tag) ?? []), ...codes])
  }

  /** Number of killed processes and servers. */
  get deaths(): number {
    return this.killedServers + this.#actors.filter(({ isKilled }) => isKilled).length
  }

  mayLose(tag: string, code: string): boolean {
    return this.#mayLose.get(tag)?.includes(code) ?? false
  }

  /** Ends all runs, and waits until they have ended and every reader has seen it. */
  async finish(): Promise<void> {
    const streamIds = [...this.records.keys()]
    for (const actor of this.#actors) await actor.order({ do: 'finish', streamIds })
    for (const record of this.records.values()) {
      await this.until(`${record.run.streamId} has ended`, () => record.ends.length > 0)
    }
    const { manager } = await this.localStore()
    for (const reader of this.readers.values()) {
      const head = (await manager.getInfo(reader.streamId))?.head
      await this.until(`${reader.name} has read ${reader.streamId} to ${head}`, () => reader.current.sequence === head)
    }
  }

  /** Ends everything and returns the processes to the pool. */
  async close(): Promise<void> {
    this.#closing.abort()
    for (const child of await Promise.all(this.#actors.map(actor => actor.dismiss()))) {
      if (child) await this.#processes.giveBack(child)
    }
    await this.#closeConnections()
  }

  /** Kills everything, in any state. */
  async killAll(): Promise<void> {
    this.#closing.abort()
    for (const actor of this.#actors) await actor.kill()
    await this.#closeConnections()
  }

  async #closeConnections(): Promise<void> {
    for (const started of this.#proxies) await started.stop()
    await this.closeLocalStore()
  }

  readonly #onMessage = (actor: StoreProcess | undefined, event: ReceivedMessage): void => {
    if (event.kind === 'call-failed' || event.kind === 'locked')
      this.events.push({ ...event, by: actor?.tag ?? TEST_TAG })
    if ('streamId' in event) this.records.get(event.streamId)?.record(actor?.tag ?? TEST_TAG, event)
    if (event.kind === 'read' || event.kind === 'truncated') {
      const reader = this.readers.get(event.reader)
      reader?.take(event)
      // A client would take a snapshot. Here it reads the log again.
      if (reader && event.kind === 'truncated') void this.resume(reader, reader.actor)
    }
    if (event.kind === 'failed' && !this.#closing.signal.aborted) {
      const { operation, code, message } = event
      this.#fail(new Error(`${actor?.tag ?? 'this process'}: ${operation} failed, ${code}: ${message}`))
    }
    for (const waiting of [...this.#pendingWaits]) if (waiting.isReached()) waiting.resolve()
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
    for (const waiting of [...this.#pendingWaits]) waiting.reject(error)
  }

  #state(): string {
    const logs = [...this.records.values()].map(({ run, acks, losses, ends }) => {
      const lost = losses.map(({ by, code }) => `${by} ${code}`).join(', ')
      return `${run.streamId} has ${acks.length} acks, last ${acks.at(-1)?.last}, ${ends.length} ends, lost [${lost}]`
    })
    const readers = [...this.readers.values()].map(({ name, current }) => `${name} at ${current.sequence}`)
    const failedCalls = this.events.slice(-3).map(event => `${event.by} ${JSON.stringify(event)}`)
    return [...logs, ...readers, ...failedCalls].join('; ')
  }
}
