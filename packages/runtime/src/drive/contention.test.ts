// Several processes compete for one run, with an unavailable store: one of them drives it, and the others write
// nothing.

import { LogError } from '@millrace/log'
import { expect, test } from 'vitest'
import { Calls, FULL_ANSWER, program } from './program.fixture.ts'
import { expectOneEnd, isStep, LEASE_MS, type Process, textOf, VirtualCluster } from './virtual-cluster.fixture.ts'

const SESSION = 's'
const RUN = 'r1'

class CompetingProcesses {
  readonly cluster = new VirtualCluster()
  /** The calls of each process. */
  readonly calls = new Map<Process, Calls>()

  static async open(): Promise<CompetingProcesses> {
    const processes = new CompetingProcesses()
    const server = processes.cluster.process(() => [], { engine: false })
    await server.runtime.start({ session: SESSION, runId: RUN, agent: 'agent:helper@1', input: 'How warm?' })
    return processes
  }

  process(retryTimeoutMs = 5000): Process {
    const calls = new Calls()
    const process = this.cluster.process(timers => [program(timers, calls)], { log: { retryTimeoutMs } })
    this.calls.set(process, calls)
    return process
  }

  of(process: Process): Calls {
    return this.calls.get(process) as Calls
  }

  /** Expects that the run is in the log once and complete. */
  async expectCompleted(): Promise<void> {
    expect(await this.cluster.waitForEnd(SESSION, RUN)).toBe('completed')
    await this.cluster.clock.advance(2 * LEASE_MS)
    await expectOneEnd(this.cluster, SESSION, RUN)
    const view = await this.cluster.view(SESSION)
    expect(textOf(view, RUN)).toBe(FULL_ANSWER)
    expect(view.state).toEqual({ Ulm: true, Bonn: true })
  }
}

test('fences a driver that was frozen past its lease: aborts its calls, and the log gets nothing from it', async () => {
  const processes = await CompetingProcesses.open()
  const { cluster } = processes
  const owner = processes.process()
  await cluster.waitForEntry(
    SESSION,
    ({ chunk, origin }) => chunk.type === 'tool-output-available' && isStep(origin, 1),
  )
  owner.freeze()
  const nextProcess = processes.process()
  const { sequence } = await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'executor-superseded')
  owner.thaw()
  await processes.expectCompleted()
  // The first of its calls ended before it could know. Its outcome is not in the log.
  expect(processes.of(owner).aborted).toContain('c2')
  expect(processes.of(owner).models).toEqual([`${SESSION}/${RUN}/${RUN}/1`])
  expect(processes.of(nextProcess).tools.sort()).toEqual(['c1', 'c2'])
  expect(processes.of(nextProcess).models).toEqual([`${SESSION}/${RUN}/${RUN}/2`])
  expect(owner.logged).toMatchObject([{ level: 'warn', cause: { code: 'fenced' } }])
  // The thawed process wrote nothing: the log has only the entries of its successor.
  const after = (await cluster.entries(SESSION)).filter(entry => entry.sequence > sequence)
  expect(after.filter(({ chunk }) => chunk.type === 'executor-superseded')).toEqual([])
  const outputs = after.filter(({ chunk }) => chunk.type === 'tool-output-available' && !chunk.preliminary)
  expect(outputs).toHaveLength(2)
})

test('a driver that was frozen in a model call starts nothing when it is thawed', async () => {
  const processes = await CompetingProcesses.open()
  const { cluster } = processes
  const owner = processes.process()
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'text-delta')
  owner.freeze()
  processes.process()
  await processes.expectCompleted()
  const { head } = (await cluster.manager.getInfo(SESSION)) ?? {}
  owner.thaw()
  await cluster.clock.advance(10 * LEASE_MS)
  expect((await cluster.manager.getInfo(SESSION))?.head).toBe(head)
  expect(processes.of(owner)).toMatchObject({
    models: [`${SESSION}/${RUN}/${RUN}/1`],
    tools: [],
    aborted: [`${SESSION}/${RUN}/${RUN}/1`],
  })
})

test('many processes that compete for one run call nothing twice', async () => {
  const processes = await CompetingProcesses.open()
  const all = Array.from({ length: 5 }, () => processes.process())
  await processes.expectCompleted()
  const models = all.flatMap(process => processes.of(process).models)
  expect(models).toEqual([`${SESSION}/${RUN}/${RUN}/1`, `${SESSION}/${RUN}/${RUN}/2`])
  expect(all.flatMap(process => processes.of(process).tools).sort()).toEqual(['c1', 'c2'])
  expect((await processes.cluster.entries(SESSION)).map(({ chunk }) => chunk.type)).not.toContain('executor-superseded')
  expect(all.flatMap(({ logged }) => logged)).toEqual([])
})

/** The entries at which the store becomes unavailable. */
const OUTAGE_STARTS = ['run-started', 'text-delta', 'step-finish', 'tool-output-available', 'state-patch']

test.each(OUTAGE_STARTS)(
  'continues a run once if the store is unavailable beyond the lease but within retryTimeoutMs, from %s on',
  async type => {
    const processes = await CompetingProcesses.open()
    const { cluster } = processes
    const owner = processes.process()
    await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === type)
    owner.connection.isUnavailable = true
    await cluster.clock.advance(3 * LEASE_MS)
    owner.connection.isUnavailable = false
    await processes.expectCompleted()
    expect(processes.of(owner).models).toEqual([`${SESSION}/${RUN}/${RUN}/1`, `${SESSION}/${RUN}/${RUN}/2`])
    expect(processes.of(owner).tools.sort()).toEqual(['c1', 'c2'])
    expect((await cluster.entries(SESSION)).map(({ chunk }) => chunk.type)).not.toContain('executor-superseded')
  },
)

test.each(OUTAGE_STARTS)(
  'continues a run once when the store is back after longer than retryTimeoutMs, from %s on',
  async type => {
    const processes = await CompetingProcesses.open()
    const { cluster } = processes
    const owner = processes.process(500)
    await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === type)
    owner.connection.isUnavailable = true
    await cluster.clock.advance(20 * LEASE_MS)
    expect((await cluster.manager.getInfo(SESSION))?.ticket.run?.runId).toBe(RUN)
    owner.connection.isUnavailable = false
    await processes.expectCompleted()
    const types = (await cluster.entries(SESSION)).map(({ chunk }) => chunk.type)
    expect(types).not.toContain('error')
    // Committed calls are not repeated. The others are, with the same key.
    expect(new Set(processes.of(owner).models)).toEqual(
      new Set([`${SESSION}/${RUN}/${RUN}/1`, `${SESSION}/${RUN}/${RUN}/2`]),
    )
    expect(owner.logged.filter(({ level }) => level === 'error')).toEqual([])
  },
)

test('continues a run once through repeated outages of the store', async () => {
  const processes = await CompetingProcesses.open()
  const { cluster } = processes
  const owner = processes.process(500)
  let isOver = false
  const ended = cluster.manager.createResumableReader(SESSION, { runId: RUN }).then(async reader => {
    for await (const _ of reader);
    isOver = true
  })
  for (let n = 1; !isOver; n++) {
    owner.connection.isUnavailable = n % 2 === 0
    await cluster.clock.advance(n % 2 === 0 ? 2000 : 400)
    expect(n).toBeLessThan(100)
  }
  await ended
  owner.connection.isUnavailable = false
  await processes.expectCompleted()
})

test.each(OUTAGE_STARTS)(
  'continues a run once if the store rejects reads for longer than retryTimeoutMs, from %s on',
  async type => {
    const processes = await CompetingProcesses.open()
    const { cluster } = processes
    const owner = processes.process(500)
    await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === type)
    owner.connection.before = ({ method }) => {
      if (method === 'read') throw new LogError('unavailable', 'the store is unreachable')
    }
    await cluster.clock.advance(5 * LEASE_MS)
    owner.connection.before = undefined
    await processes.expectCompleted()
    expect((await cluster.entries(SESSION)).map(({ chunk }) => chunk.type)).not.toContain('error')
  },
)

test('does not start a run whose session is deleted during the claim', async () => {
  const processes = await CompetingProcesses.open()
  const { cluster } = processes
  const owner = processes.process()
  const removed = Promise.withResolvers<void>()
  owner.connection.before = async ({ method }) => {
    if (method !== 'create') return
    owner.connection.before = undefined
    await cluster.manager.deleteStream(SESSION)
    removed.resolve()
  }
  await cluster.clock.until(removed.promise)
  await cluster.clock.advance(1000)
  expect(await cluster.entries(SESSION)).toEqual([])
  expect(processes.of(owner).models).toEqual([])
})
