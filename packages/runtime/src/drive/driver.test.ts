import type { Json } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Agent, agent, MillraceError, scriptedModel, tool } from '../index.ts'
import type { ProcessTimers } from './clock.fixture.ts'
import { OUTAGE_GRACE_MS } from './driver.ts'
import { FIRST_BACKOFF_MS } from './engine.ts'
import { Calls, FULL_ANSWER, program } from './program.fixture.ts'
import { callsOf, expectOneEnd, isStep, LEASE_MS, textOf, VirtualCluster } from './virtual-cluster.fixture.ts'

const SESSION = 's'
const RUN = 'r1'

/** An agent that streams a few words and then hangs. */
const silentAgent = (timers: ProcessTimers): Agent =>
  agent({ name: 'silent', model: scriptedModel([{ text: 'one two three four' }], { paceMs: 200, timers }) })

async function requestRun(cluster: VirtualCluster, name: string, options: { context?: Json } = {}): Promise<void> {
  const server = cluster.process(() => [], { engine: false })
  await server.runtime.start({ session: SESSION, runId: RUN, agent: `agent:${name}@1`, input: 'Hello', ...options })
}

const typesOf = async (cluster: VirtualCluster): Promise<string[]> =>
  (await cluster.entries(SESSION)).map(({ chunk }) => chunk.type)

test('law 4: takes over the run of a dead owner after its lease, discards its draft and keeps its commits', async () => {
  const cluster = new VirtualCluster()
  const calls = new Calls()
  await requestRun(cluster, 'helper')
  const owner = cluster.process(timers => [program(timers, calls)])
  const nextProcess = cluster.process(timers => [program(timers, calls)])
  await cluster.waitForEntry(SESSION, ({ chunk, origin }) => chunk.type === 'text-delta' && isStep(origin, 2))
  const [dead, alive] = owner.connection.watches > 0 ? [owner, nextProcess] : [nextProcess, owner]
  dead.kill()
  const from = cluster.clock.now()
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
  expect(cluster.clock.now() - from).toBeLessThan(2 * LEASE_MS + 500)
  expect(textOf(await cluster.view(SESSION), RUN)).toBe(FULL_ANSWER)
  expect(calls.tools.sort()).toEqual(['c1', 'c2'])
  expect(calls.models).toEqual([
    `${SESSION}/${RUN}/${RUN}/1`,
    `${SESSION}/${RUN}/${RUN}/2`,
    `${SESSION}/${RUN}/${RUN}/2`,
  ])
  const types = await typesOf(cluster)
  expect(types.filter(type => type === 'executor-superseded')).toHaveLength(1)
  expect(types.filter(type => type === 'step-discarded')).toHaveLength(1)
  expect(alive.logged).toEqual([])
})

/** Two processes that drive, of which one streams an answer, while the store is out of reach for several leases. */
async function outage() {
  const cluster = new VirtualCluster()
  const calls = new Calls()
  await requestRun(cluster, 'helper')
  const processes = [1, 2].map(() => cluster.process(timers => [program(timers, calls)]))
  await cluster.waitForEntry(SESSION, ({ chunk, origin }) => chunk.type === 'text-delta' && isStep(origin, 2))
  const owner = processes.find(({ connection }) => connection.watches > 0)
  const other = processes.find(process => process !== owner)
  if (owner === undefined || other === undefined) throw new Error('expected one owner of the run')
  for (const { connection } of processes) connection.isUnavailable = true
  await cluster.clock.advance(3 * LEASE_MS)
  other.connection.isUnavailable = false
  return { cluster, calls, owner, from: cluster.clock.now() }
}

test('after an outage of the store, a live owner keeps its run, also if others reach the store before it', async () => {
  const { cluster, calls, owner } = await outage()
  await cluster.clock.advance(1500)
  owner.connection.isUnavailable = false
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
  expect(await typesOf(cluster)).not.toContain('executor-superseded')
  expect(calls.models).toHaveLength(2)
})

test('after an outage of the store, the run of a dead owner is taken over', async () => {
  const { cluster, owner, from } = await outage()
  owner.kill()
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
  expect(await typesOf(cluster)).toContain('executor-superseded')
  expect(cluster.clock.now() - from).toBeLessThan(OUTAGE_GRACE_MS + 2500)
})

test('fails a run that keeps crashing its process, and keeps the shown content', async () => {
  const cluster = new VirtualCluster()
  await requestRun(cluster, 'silent')
  let deaths = 0
  const die = async () => {
    const process = cluster.process(timers => [silentAgent(timers)], { maxTakeovers: 3 })
    const { head } = (await cluster.manager.getInfo(SESSION)) ?? { head: 0 }
    const next = await cluster.waitForEntry(
      SESSION,
      ({ chunk, sequence }) => sequence > head && ['text-delta', 'run-finished'].includes(chunk.type),
    )
    process.kill()
    deaths++
    return next.chunk.type
  }
  while ((await die()) === 'text-delta');
  // The first drive and three takeovers. The next driver ends it.
  expect(deaths).toBe(5)
  await expectOneEnd(cluster, SESSION, RUN)
  const view = await cluster.view(SESSION)
  expect(view.runs[0]).toMatchObject({ status: 'failed', error: { code: 'run_crashed' } })
  expect(textOf(view, RUN)).toBe('one')
  expect((await typesOf(cluster)).slice(-4)).toEqual(['executor-superseded', 'error', 'finish', 'run-finished'])
})

test('never gives up a run that commits between takeovers', async () => {
  const cluster = new VirtualCluster()
  await requestRun(cluster, 'walker')
  const calls: string[] = []
  const walker = (timers: ProcessTimers): Agent =>
    agent({
      name: 'walker',
      model: scriptedModel(
        ({ answers, key }) => {
          calls.push(key)
          return answers < 8 ? { calls: [{ name: 'step', input: {}, id: `c${answers}` }] } : { text: 'there' }
        },
        { paceMs: 50, timers },
      ),
      tools: [tool({ name: 'step', inputSchema: z.object({}), execute: () => 'on' })],
    })
  for (let step = 1; step <= 8; step++) {
    const process = cluster.process(timers => [walker(timers)], { maxTakeovers: 1 })
    await cluster.waitForEntry(
      SESSION,
      ({ chunk }) => chunk.type === 'tool-output-available' && chunk.toolCallId === `c${step - 1}`,
    )
    process.kill()
  }
  cluster.process(timers => [walker(timers)], { maxTakeovers: 1 })
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
  expect((await typesOf(cluster)).filter(type => type === 'executor-superseded').length).toBeGreaterThanOrEqual(8)
})

test('commits the model call and tools in flight on shutdown, starts nothing new, and another process continues at once', async () => {
  const cluster = new VirtualCluster()
  const calls = new Calls()
  await requestRun(cluster, 'helper')
  const owner = cluster.process(timers => [program(timers, calls)])
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'text-delta')
  await cluster.clock.until(owner.runtime.close())
  expect(calls).toEqual({ models: [`${SESSION}/${RUN}/${RUN}/1`], tools: [], aborted: expect.any(Array) })
  expect((await typesOf(cluster)).at(-1)).toBe('checkpoint-created')
  expect((await cluster.manager.getInfo(SESSION))?.lease).toBeNull()

  const second = cluster.process(timers => [program(timers, calls)])
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'tool-output-available')
  const from = cluster.clock.now()
  await cluster.clock.until(second.runtime.close())
  const outputs = callsOf(await cluster.view(SESSION), RUN)
  expect(outputs.map(({ state }) => state)).toEqual(['output-available', 'output-available'])

  cluster.process(timers => [program(timers, calls)])
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
  expect(cluster.clock.now() - from).toBeLessThan(LEASE_MS)
  expect(textOf(await cluster.view(SESSION), RUN)).toBe(FULL_ANSWER)
  expect(calls.models).toEqual([`${SESSION}/${RUN}/${RUN}/1`, `${SESSION}/${RUN}/${RUN}/2`])
  expect(calls.tools.sort()).toEqual(['c1', 'c2'])
  expect(await typesOf(cluster)).not.toContain('step-discarded')
  for (const { timers, connection } of [owner, second]) {
    expect(timers.pendingTimers).toEqual([])
    expect(connection.watches).toBe(0)
  }
})

const never = new Promise<never>(() => {})
const deafTool = agent({
  name: 'deaf',
  model: scriptedModel([{ calls: [{ name: 'wait', input: {} }] }]),
  tools: [tool({ name: 'wait', inputSchema: z.object({}), execute: () => never })],
})
const deafModel = agent({ name: 'deaf', model: { ...scriptedModel([]), doStream: () => never } })

test.each([
  ['a tool', deafTool],
  ['a model', deafModel],
])('a shutdown that takes too long abandons %s that ignores the signal', async (_, deaf) => {
  const cluster = new VirtualCluster()
  await requestRun(cluster, 'deaf')
  const owner = cluster.process(() => [deaf], { engine: { graceMs: 5000 } })
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'start')
  await cluster.clock.advance(100)
  const from = cluster.clock.now()
  await cluster.clock.until(owner.runtime.close())
  expect(cluster.clock.now() - from).toBe(5000)
  const { lease, ticket } = (await cluster.manager.getInfo(SESSION)) ?? {}
  expect([lease, ticket?.run?.runId]).toEqual([null, RUN])
  expect(owner.timers.pendingTimers).toEqual([])
  expect(owner.connection.watches).toBe(0)
})

test('stops without waiting for a model that ignores its signal', async () => {
  const cluster = new VirtualCluster()
  await requestRun(cluster, 'deaf')
  cluster.process(() => [deafModel])
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'start')
  await cluster.manager.append(SESSION, 'ann', { type: 'stop-requested', runId: RUN, mode: 'abort' })
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('aborted')
})

test('a stop during a takeover is not missed, even with a silent model', async () => {
  const cluster = new VirtualCluster()
  await requestRun(cluster, 'deaf')
  const deaf = { ...deafModel, initialState: {} }
  const owner = cluster.process(() => [deaf])
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'checkpoint-created')
  owner.kill()
  const nextProcess = cluster.process(() => [deaf])
  nextProcess.connection.after = async ({ method }) => {
    if (method !== 'append') return
    nextProcess.connection.after = undefined
    await cluster.manager.append(SESSION, 'ann', { type: 'stop-requested', runId: RUN })
  }
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('interrupted')
})

test('resolves the context at each drive, and fails the run if that fails', async () => {
  const cluster = new VirtualCluster()
  const calls = new Calls()
  await requestRun(cluster, 'helper', { context: { tenant: 'mill' } })
  const resolved: unknown[] = []
  const resolveContext = (context: Json | undefined, run: object) => {
    resolved.push([context, run])
    return context
  }
  const owner = cluster.process(timers => [program(timers, calls)], { resolveContext })
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'text-delta')
  await cluster.clock.until(owner.runtime.close())
  const cause = new Error('the vault at 10.0.0.1 is sealed')
  const second = cluster.process(timers => [program(timers, calls)], {
    resolveContext(context, run) {
      resolveContext(context, run)
      throw cause
    },
  })
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('failed')
  expect(resolved).toEqual(Array(2).fill([{ tenant: 'mill' }, { sessionId: SESSION, runId: RUN }]))
  const view = await cluster.view(SESSION)
  expect(view.runs[0]?.error).toMatchObject({
    code: 'agent_failed',
    message: 'the context of the run could not be resolved',
  })
  expect(JSON.stringify(await cluster.entries(SESSION))).not.toContain('vault')
  expect(second.logged).toMatchObject([{ level: 'error', cause: { cause } }])
  expect(textOf(view, RUN)).toBe('Let me look at both.')
})

test('shows a typed error of resolveContext', async () => {
  const cluster = new VirtualCluster()
  await requestRun(cluster, 'silent')
  cluster.process(timers => [silentAgent(timers)], {
    async resolveContext() {
      throw new MillraceError('validation_failed', `the tenant is gone ${'x'.repeat(10_000)}`)
    },
  })
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('failed')
  const { error } = (await cluster.view(SESSION)).runs[0] ?? {}
  expect(error?.code).toBe('validation_failed')
  expect(error?.message).toMatch(/^the tenant is gone x+…$/)
  expect(error?.message.length).toBeLessThanOrEqual(500)
})

test("counts the time of a run by the store's clock, across drivers", async () => {
  const cluster = new VirtualCluster()
  await requestRun(cluster, 'silent')
  const limited = (timers: ProcessTimers): Agent => ({
    ...silentAgent(timers),
    budget: { steps: 5, tokens: 1000, bytes: Number.POSITIVE_INFINITY, timeMs: 2000 },
  })
  const owner = cluster.process(timers => [limited(timers)])
  const { timestamp } = await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'run-started')
  await cluster.clock.advance(300)
  owner.kill()
  await cluster.clock.advance(1300)
  cluster.process(timers => [limited(timers)])
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'executor-superseded')
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('failed')
  const [run] = (await cluster.view(SESSION)).runs
  expect(run).toMatchObject({ error: { code: 'budget_time' } })
  expect((run?.finishedAt ?? 0) - timestamp).toBeLessThan(2050)
  expect(textOf(await cluster.view(SESSION), RUN)).toBe('one')
})

test('ends a run at once if its time is over, and keeps the shown content', async () => {
  const cluster = new VirtualCluster()
  await requestRun(cluster, 'silent')
  const limited = (timers: ProcessTimers): Agent => ({
    ...silentAgent(timers),
    budget: { steps: 5, tokens: 1000, bytes: Number.POSITIVE_INFINITY, timeMs: 2000 },
  })
  const owner = cluster.process(timers => [limited(timers)])
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'text-delta')
  owner.kill()
  await cluster.clock.advance(3000)
  cluster.process(timers => [limited(timers)])
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('failed')
  const view = await cluster.view(SESSION)
  expect(view.runs[0]).toMatchObject({ error: { code: 'budget_time' } })
  expect(textOf(view, RUN)).toBe('one')
  expect(await typesOf(cluster)).not.toContain('step-discarded')
})

test('hands over at once between two attempts of a model call, and another process makes the next', async () => {
  const cluster = new VirtualCluster()
  await requestRun(cluster, 'flaky')
  let attempts = 0
  const flaky = (timers: ProcessTimers): Agent => {
    const answers = () => (++attempts === 1 ? { text: 'Hal', error: new Error('overloaded') } : { text: 'Hello.' })
    return agent({ name: 'flaky', model: scriptedModel(answers, { timers, paceMs: 10 }) })
  }
  const owner = cluster.process(timers => [flaky(timers)], { backoff: { firstMs: 20_000 } })
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'text-delta')
  const from = cluster.clock.now()
  await cluster.clock.until(owner.runtime.close())
  expect(cluster.clock.now() - from).toBeLessThan(1000)
  cluster.process(timers => [flaky(timers)])
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
  expect(textOf(await cluster.view(SESSION), RUN)).toBe('Hello.')
  expect(attempts).toBe(2)
})

test.each(['before it is found', 'while its context is resolved'])(
  'names the latest checkpoint in the end of a run that is stopped during its takeover, %s',
  async when => {
    const cluster = new VirtualCluster()
    await requestRun(cluster, 'helper')
    const owner = cluster.process(timers => [program(timers, new Calls())])
    await cluster.waitForEntry(SESSION, ({ chunk, origin }) => chunk.type === 'text-delta' && isStep(origin, 2))
    owner.kill()
    const stop = () => cluster.manager.append(SESSION, 'ann', { type: 'stop-requested', runId: RUN })
    if (when === 'before it is found') await stop()
    const nextProcess = cluster.process(timers => [program(timers, new Calls())], {
      async resolveContext(context, { runId }) {
        if (runId !== RUN) return context
        await stop()
        return never
      },
    })
    expect(await cluster.waitForEnd(SESSION, RUN)).toBe('interrupted')
    expect((await cluster.view(SESSION)).runs[0]?.checkpointId).toBe(`${RUN}/main/1`)
    const resumed = await nextProcess.runtime.resume(SESSION, RUN, { runId: 'r2' })
    expect(await cluster.clock.until(resumed.result())).toMatchObject({ status: 'completed' })
  },
)

test('logs an error outside of the run, and retries the run later', async () => {
  const cluster = new VirtualCluster()
  await requestRun(cluster, 'helper')
  const calls = new Calls()
  const owner = cluster.process(timers => [program(timers, calls)])
  const cause = new TypeError('a bug')
  let isBroken = true
  owner.connection.before = ({ method }) => {
    if (method === 'claim' && isBroken) throw cause
  }
  await cluster.clock.advance(5 * FIRST_BACKOFF_MS)
  expect(owner.logged).toEqual(Array(3).fill({ level: 'error', message: 'failed to drive a session', cause }))
  isBroken = false
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('completed')
  expect(textOf(await cluster.view(SESSION), RUN)).toBe(FULL_ANSWER)
})

test('logs once that due sessions cannot be queried, until they can again', async () => {
  const cluster = new VirtualCluster()
  const owner = cluster.process(() => [], { log: { retryTimeoutMs: 0 } })
  for (const isCut of [true, false, true]) {
    owner.connection.isUnavailable = isCut
    await cluster.clock.advance(5000)
  }
  expect(owner.logged.map(({ message }) => message)).toEqual(Array(2).fill('failed to query due sessions'))
})

test('law 6: fails the run if an answer exceeds the size limit of the log', async () => {
  const cluster = new VirtualCluster()
  await requestRun(cluster, 'wordy')
  const wordy = agent({
    name: 'wordy',
    model: scriptedModel([{ text: JSON.stringify({ words: 'x'.repeat(20_000) }) }]),
    outputSchema: z.object({ words: z.string() }),
  })
  const owner = cluster.process(() => [wordy], { log: { maxEntryBytes: 8192 } })
  expect(await cluster.waitForEnd(SESSION, RUN)).toBe('failed')
  await expectOneEnd(cluster, SESSION, RUN)
  expect((await cluster.view(SESSION)).runs[0]?.error?.code).toBeDefined()
  expect(owner.logged.map(({ message }) => message)).toContain('a run failed')
})
