// The expiry that a driver sets on a store that can remove data by itself, on a real Redis.

import { setTimeout as pause } from 'node:timers/promises'
import { LogError, type LogStore, memoryStore } from '@millrace/log'
import { redisStore } from '@millrace/log/redis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { redis } from '../../../../scripts/services/redis.ts'
import type { Service } from '../../../../scripts/services/server.ts'
import { echo, testRuntime } from '../api/test-runtime.fixture.ts'
import { agent, type RuntimeOptions, scriptedModel, tool } from '../index.ts'
import type { Logger } from '../telemetry/logger.ts'
import { EXPIRY_MARGIN_MS } from './retention-sweep.ts'

const IDLE_MS = 86_400_000
const retention = { idleMs: IDLE_MS }

const clerk = agent({
  name: 'clerk',
  tools: [tool({ name: 'pay', inputSchema: z.object({}), approval: true, execute: () => 'paid' })],
  model: scriptedModel([{ calls: [{ name: 'pay', input: {}, id: 'c1' }] }, { text: 'Done.' }]),
})

describe('on Redis', () => {
  let service: Service
  let client: ReturnType<typeof createClient>
  let prefixes = 0
  beforeAll(async () => {
    service = await redis()
    client = createClient({ url: service.url })
    await client.connect()
  })
  afterAll(async () => {
    client.destroy()
    await service.stop()
  })

  function setUp(options: Partial<RuntimeOptions> = {}) {
    const prefix = `test-${++prefixes}:`
    const store = redisStore({ url: service.url, prefix })
    onTestFinished(() => store.close())
    const runtime = testRuntime({ store, agents: [echo, clerk], retention, ...options })
    /** The time to live of all keys of the session, in ms; -1 for those that do not expire. */
    const timesToLive = async () => {
      const times = (await client.keys(`${prefix}{s}:*`)).map(key => client.pTTL(key))
      return Promise.all(times)
    }
    const isExpiring = async () => (await timesToLive()).every(ms => ms > IDLE_MS && ms <= IDLE_MS + EXPIRY_MARGIN_MS)
    const isKept = async () => (await timesToLive()).every(ms => ms === -1)
    return { runtime, isExpiring, isKept }
  }

  const until = async (holds: () => Promise<boolean>) => {
    while (!(await holds())) await pause(5)
  }

  test('law 12: a session at rest expires; one with a request or a paused run does not', async () => {
    const { runtime, isExpiring, isKept } = setUp()
    const run = await runtime.start({ session: 's', agent: echo, input: 'Hi' })
    await run.result()
    await until(isExpiring)
    await runtime.start({ session: 's', agent: 'agent:absent@1', input: 'Hi', runId: 'r2' })
    expect(await isKept()).toBe(true)
    await runtime.stop('s', 'r2')
    expect(await isExpiring()).toBe(true)
    const asking = await runtime.start({ session: 's', agent: clerk, input: 'Pay' })
    expect((await asking.result()).status).toBe('paused')
    while ((await runtime.manager.getInfo('s'))?.lease !== null) await pause(5)
    await runtime.describe('s', { title: 'A payment' })
    expect(await isKept()).toBe(true)
    await runtime.answer('s', { kind: 'approval', id: `${asking.runId}::c1`, approved: true })
    await asking.result()
    await until(isExpiring)
  })

  test('the confirmation of a notification keeps the expiry', async () => {
    const notified = Promise.withResolvers<void>()
    const { runtime, isExpiring } = setUp({ observers: [{ onFinished: () => notified.resolve() }] })
    const run = await runtime.start({ session: 's', agent: echo, input: 'Hi' })
    await run.result()
    await notified.promise
    while ((await runtime.manager.getInfo('s'))?.ticket.notices?.length) await pause(5)
    await until(isExpiring)
  })

  test('a session does not expire without idleMs', async () => {
    const { runtime, isKept } = setUp({ retention: { maxEntries: 5 } })
    const run = await runtime.start({ session: 's', agent: echo, input: 'Hi' })
    await run.result()
    while ((await runtime.manager.getInfo('s'))?.lease !== null) await pause(5)
    expect(await isKept()).toBe(true)
  })
})

test('a store that cannot set the expiry fails no run, and the driver logs it', async () => {
  const logged: string[] = []
  const record: Logger['warn'] = message => void logged.push(message)
  const expireAfter: LogStore['expireAfter'] = () => Promise.reject(new LogError('unavailable', 'it is down'))
  const store = Object.assign(memoryStore(), { expireAfter })
  const logger = { warn: record, error: record }
  const runtime = testRuntime({ store, agents: [echo], retention, logger, log: { retryTimeoutMs: 0 } })
  const run = await runtime.start({ session: 's', agent: echo, input: 'Hi' })
  expect((await run.result()).status).toBe('completed')
  await runtime.close()
  expect(logged).toEqual(['failed to set the expiry of a session'])
})
