// Two real processes on one store: which of them drives a run while one of them is blocked, stopped or killed.

import { existsSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogStore } from '@millrace/log'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Child, startChildProcess } from '../../../../../scripts/faults/process.ts'
import { createRuntime, type Run, type Runtime } from '../../index.ts'
import { openStoreSpec } from '../process/open-store.fixture.ts'
import type { StoreSpec } from '../process/process-messages.fixture.ts'
import type { ComputingOrder } from './computing-process.fixture.ts'

/** Short, so that the tests are quick. Blocks and limits below are several times as long. */
const LEASE_MS = 1_500
const BLOCK_MS = 3 * LEASE_MS
const CHILD = join(import.meta.dirname, 'computing-process.fixture.ts')

export interface LivenessStore {
  specOf(index: number): StoreSpec
  stop(): Promise<void>
}

/** One test: its store, its processes and the executions of the tool. */
export class LivenessTrial {
  readonly #spec: StoreSpec
  readonly #folder = mkdtempSync(join(tmpdir(), 'millrace-liveness-'))
  readonly #children: Child[] = []
  #store: LogStore | undefined
  #runtime: Runtime | undefined

  constructor(spec: StoreSpec) {
    this.#spec = spec
  }

  get #ledger(): string {
    return join(this.#folder, 'ledger')
  }

  /** The file for which a blocked tool waits. */
  get release(): string {
    return join(this.#folder, 'release')
  }

  /** The pids of the executions of the tool so far. */
  get executions(): number[] {
    if (!existsSync(this.#ledger)) return []
    const lines = readFileSync(this.#ledger, 'utf8').split('\n')
    return lines.filter(line => line !== '').map(Number)
  }

  /** Starts a process that drives runs. */
  async driver(order: Partial<ComputingOrder> = {}): Promise<Child> {
    const child = startChildProcess(CHILD)
    this.#children.push(child)
    const defaults = { ledger: this.#ledger, block: BLOCK_MS, log: { leaseMs: LEASE_MS } }
    await child.send({ spec: this.#spec, ...defaults, ...order })
    await child.event('drives')
    return child
  }

  async startRun(): Promise<Run> {
    this.#store ??= await openStoreSpec(this.#spec)
    this.#runtime ??= createRuntime({ store: this.#store, engine: false })
    return this.#runtime.start({ session: 's', agent: 'agent:clerk@1', input: 'Compute.' })
  }

  /** Resolves when the tool was executed this many times. */
  async executed(count: number): Promise<void> {
    if (this.executions.length >= count) return
    await new Promise<void>(resolve => {
      const watcher = watch(this.#folder, () => {
        if (this.executions.length < count) return
        watcher.close()
        resolve()
      })
      if (this.executions.length < count) return
      watcher.close()
      resolve()
    })
  }

  /** The types of the log's entries. */
  async entryTypes(): Promise<string[]> {
    const manager = this.#runtime?.manager
    const types: string[] = []
    for await (const { chunk } of (await manager?.createResumableReader('s')) ?? []) types.push(chunk.type)
    return types
  }

  /** All that the store has of the log, apart from the time of the read. */
  async storedLog(): Promise<object> {
    const page = await this.#store?.read('s', { sequence: 0 }, { batches: 1000, bytes: 10_000_000 })
    return { ...page, clock: undefined }
  }

  /** Waits until no process has the log, and returns what the store has of it. */
  async whenReleased(): Promise<object> {
    await expect.poll(async () => (await this.#runtime?.manager.getInfo('s'))?.lease).toBeNull()
    return this.storedLog()
  }

  async end(): Promise<void> {
    await Promise.all(this.#children.map(child => child.kill9()))
    await this.#runtime?.close()
    await this.#store?.close()
    rmSync(this.#folder, { recursive: true })
  }
}

/** The tests of one kind of store. */
export function livenessTests(name: string, start: () => Promise<LivenessStore>): void {
  describe(`two processes on ${name}`, () => {
    let store: LivenessStore
    let trial: LivenessTrial
    let count = 0
    beforeAll(async () => {
      store = await start()
    })
    afterAll(() => store.stop())
    beforeEach(() => {
      trial = new LivenessTrial(store.specOf(count++))
    })
    afterEach(() => trial.end())

    test('a process that blocks its event loop for several leases is not taken over', async () => {
      await Promise.all([trial.driver(), trial.driver()])
      const run = await trial.startRun()
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' })
      expect(trial.executions).toHaveLength(1)
      expect(await trial.entryTypes()).not.toContain('executor-superseded')
    })

    test('law 4: a process that is blocked for longer than maxBlockedMs is taken over, and writes nothing later', async () => {
      const log = { leaseMs: LEASE_MS, maxBlockedMs: 2 * LEASE_MS }
      const blocked = await trial.driver({ block: trial.release, log })
      const run = await trial.startRun()
      await trial.executed(1)
      const other = await trial.driver({ block: 0 })
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' })
      expect(trial.executions).toEqual([blocked.pid, other.pid])
      const before = await trial.whenReleased()
      writeFileSync(trial.release, '')
      await blocked.event('lost')
      expect(await trial.storedLog()).toEqual(before)
    })

    test('law 4: a process that is stopped with all its threads is taken over, and writes nothing later', async () => {
      const stopped = await trial.driver()
      const run = await trial.startRun()
      await trial.executed(1)
      process.kill(stopped.pid, 'SIGSTOP')
      const other = await trial.driver({ block: 0 })
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' })
      const before = await trial.whenReleased()
      process.kill(stopped.pid, 'SIGCONT')
      await stopped.event('lost')
      expect(await trial.storedLog()).toEqual(before)
      expect(trial.executions).toEqual([stopped.pid, other.pid])
      const types = await trial.entryTypes()
      expect(types.filter(type => type === 'run-finished')).toHaveLength(1)
      expect(types.filter(type => type === 'executor-superseded')).toHaveLength(1)
    })
  })
}
