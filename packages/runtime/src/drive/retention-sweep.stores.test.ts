// Retention on real stores, by real time.

import { setTimeout as pause } from 'node:timers/promises'
import { StreamManager, systemTimers, type Timers } from '@millrace/log'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { echo, gate, patient, quiet, testRuntime, until } from '../api/test-runtime.fixture.ts'
import { agent, createRuntime, scriptedModel, tool } from '../index.ts'
import { BACKENDS, type Backend } from '../test/crash/stores.fixture.ts'
import { RetentionSweep } from './retention-sweep.ts'

/** Timers by which a minute takes 60 ms. */
const fastTimers: Timers = {
  now: () => systemTimers.now() * 1000,
  after: (ms, call, isIdle) => systemTimers.after(ms / 1000, call, isIdle),
}

const clerk = agent({
  name: 'clerk',
  tools: [tool({ name: 'pay', inputSchema: z.object({}), approval: true, execute: () => 'paid' })],
  model: scriptedModel([{ calls: [{ name: 'pay', input: {}, id: 'c1' }] }, { text: 'Done.' }]),
})

let lanes = 0

describe.each(['sqlite', 'redis', 'postgres'] as const)('on %s', name => {
  let backend: Backend
  beforeAll(async () => {
    backend = await BACKENDS[name]()
  })
  afterAll(() => backend.close())

  test('law 12: an idle session disappears, and none with an open, paused or requested run', async () => {
    const store = backend.open(++lanes)
    onTestFinished(() => store.close())
    const held = gate()
    const slow = patient(held)
    const runtime = testRuntime({ store, agents: [echo, slow, clerk] })
    const server = createRuntime({ store, engine: false, logger: quiet })
    const open = await runtime.start({ session: 'open', agent: slow, input: 'Hi' })
    await until(open, 'text-delta')
    const paused = await runtime.start({ session: 'paused', agent: clerk, input: 'Pay' })
    expect((await paused.result()).status).toBe('paused')
    await server.start({ session: 'requested', agent: 'agent:absent@1', input: 'Hi' })
    const isThere = async (session: string) => (await server.manager.getInfo(session)) !== null
    const openManager = () => new StreamManager({ store, retryTimeoutMs: 0 })
    const rule = { idleMs: 100, maxAgeMs: 100, maxEntries: 2 }
    const sweep = new RetentionSweep({ rule, openManager, timers: fastTimers, logger: quiet })
    const run = await runtime.start({ session: 'idle', agent: echo, input: 'Hi' })
    expect((await run.result()).status).toBe('completed')
    sweep.start()
    while (await isThere('idle')) await pause(5)
    // The pass that removes this session has seen the others when they were idle for longer.
    await server.manager.createStream('empty')
    while (await isThere('empty')) await pause(5)
    await sweep.stop()
    for (const session of ['open', 'paused', 'requested']) {
      const { floor = Number.NaN } = (await server.manager.getInfo(session)) ?? {}
      const { runs, requests } = (await server.manager.view(session)).view
      expect((runs[0] ?? requests[0])?.at).toBeGreaterThan(floor)
    }
    held.open()
    expect((await open.result()).text).toBe('one two')
    await runtime.answer('paused', { kind: 'approval', id: `${paused.runId}::c1`, approved: true })
    expect((await paused.result()).status).toBe('completed')
    await server.close()
  })
})
