// Tests that every engine must pass, in real time with a store in memory.

import { Memory, memoryStore, StreamManager } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  type Agent,
  agent,
  createRuntime,
  type Engine,
  type EngineDriver,
  type Runtime,
  type RuntimeOptions,
  scriptedModel,
  tool,
} from '../index.ts'

interface EngineOptions {
  readonly concurrency?: number
  readonly graceMs?: number
}

/** Creates an engine that is not started. */
export type CreateEngine = (options?: EngineOptions) => Engine

/** A program that waits in its only tool until it is released, and counts its calls. */
class Gate {
  readonly calls: string[] = []
  readonly #open = Promise.withResolvers<void>()
  readonly #reached = Promise.withResolvers<void>()
  /** Resolves when the tool is called. */
  readonly reached = this.#reached.promise
  readonly agent: Agent = agent({
    name: 'gate',
    model: scriptedModel(({ answers, key }) => {
      this.calls.push(key)
      return answers === 0 ? { text: 'Wait.', calls: [{ name: 'pass', input: {} }] } : { text: ' Through.' }
    }),
    tools: [
      tool({
        name: 'pass',
        inputSchema: z.object({}),
        execute: async (_, { idempotencyKey }) => {
          this.calls.push(idempotencyKey)
          this.#reached.resolve()
          await this.#open.promise
          return 'passed'
        },
      }),
    ],
  })

  open(): void {
    this.#open.resolve()
  }
}

/** An engine driver with sessions that are due until they are driven. */
class FakeDriver implements EngineDriver {
  readonly #waiting = new Set<string>()
  readonly #driven = new Map<string, PromiseWithResolvers<void>>()
  readonly #watchers = new Set<() => void>()
  /** Sessions in the order of their drives. */
  readonly drives: string[] = []
  /** Sessions whose drive rejects. */
  readonly failing = new Set<string>()
  maxActive = 0
  handOvers = 0
  abandoned = 0

  makeDue(sessionId: string): void {
    this.#waiting.add(sessionId)
  }

  async due(limit: number): Promise<string[]> {
    return [...this.#waiting].filter(id => !this.#driven.has(id)).slice(0, limit)
  }

  async drive(sessionId: string): Promise<void> {
    this.drives.push(sessionId)
    if (this.#driven.has(sessionId)) throw new Error(`${sessionId} is driven twice at a time`)
    const driven = Promise.withResolvers<void>()
    this.#driven.set(sessionId, driven)
    this.maxActive = Math.max(this.maxActive, this.#driven.size)
    for (const watcher of this.#watchers) watcher()
    if (this.failing.has(sessionId)) driven.reject(new Error('broken'))
    await driven.promise.finally(() => this.#driven.delete(sessionId))
    this.#waiting.delete(sessionId)
  }

  /** Ends a drive. */
  end(sessionId: string): void {
    this.#driven.get(sessionId)?.resolve()
  }

  handOver(): void {
    this.handOvers++
  }

  abandon(): void {
    this.abandoned++
    for (const driven of this.#driven.values()) driven.resolve()
  }

  /** Waits for a number of drives. */
  async until(count: number): Promise<void> {
    while (this.drives.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#watchers.add(resolve)
      await promise
      this.#watchers.delete(resolve)
    }
  }
}

/** The tests that every engine must pass. */
export function engineSuite(name: string, createEngine: CreateEngine): void {
  describe(name, () => {
    const setUp = () => {
      const memory = new Memory()
      const open: Runtime[] = []
      const runtime = (options: Omit<RuntimeOptions, 'store'>): Runtime => {
        const created = createRuntime({ ...options, store: memoryStore(undefined, memory) })
        open.push(created)
        return created
      }
      return { memory, runtime, close: () => Promise.all(open.map(runtime => runtime.close())) }
    }

    test('drives a session that it is woken for', async () => {
      const { runtime, close } = setUp()
      const gate = new Gate()
      gate.open()
      const run = await runtime({ agents: [gate.agent], engine: createEngine() }).start({
        agent: gate.agent,
        input: 'Hello',
      })
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'Wait. Through.' })
      await close()
    })

    test('finds sessions that were due before it started or became due elsewhere', async () => {
      const { runtime, close } = setUp()
      const gate = new Gate()
      gate.open()
      const server = runtime({ engine: false })
      const early = await server.start({ agent: gate.agent, input: 'Hello' })
      runtime({ agents: [gate.agent], engine: createEngine() })
      expect((await early.result()).status).toBe('completed')
      const late = await server.start({ agent: gate.agent, input: 'Hello' })
      expect((await late.result()).status).toBe('completed')
      await close()
    })

    test('shares due sessions with another engine: each run is driven once', async () => {
      const { runtime, close } = setUp()
      const gate = new Gate()
      gate.open()
      const server = runtime({ engine: false })
      for (let n = 0; n < 2; n++) runtime({ agents: [gate.agent], engine: createEngine() })
      const runs = await Promise.all(
        Array.from({ length: 20 }, () => server.start({ agent: gate.agent, input: 'Hello' })),
      )
      const results = await Promise.all(runs.map(run => run.result()))
      expect(results.map(({ status }) => status)).toEqual(Array(20).fill('completed'))
      expect(gate.calls).toHaveLength(60)
      await close()
    })

    test('takes over the run of a dead owner', async () => {
      const { memory, runtime, close } = setUp()
      const gate = new Gate()
      gate.open()
      const server = runtime({ engine: false })
      const run = await server.start({ session: 's', agent: gate.agent, input: 'Hello' })
      const dead = new StreamManager({
        store: memoryStore(undefined, memory),
        leaseMs: 300,
        coalesceMs: 0,
        // No timer of a dead process fires.
        timers: { now: () => 0, after: () => () => {} },
      })
      const writer = await dead.createWriter('s', { runId: run.runId, agentType: 'gate' })
      await writer.begin()
      await writer.write({ type: 'text-delta', id: 'x', delta: 'Wai' }).appended
      runtime({ agents: [gate.agent], engine: createEngine() })
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'Wait. Through.' })
      await close()
    })

    test('hands over at the next commit: finishes the work in flight, starts and repeats nothing', async () => {
      const { runtime, close } = setUp()
      const gate = new Gate()
      const server = runtime({ engine: false })
      const first = runtime({ agents: [gate.agent], engine: createEngine() })
      const run = await server.start({ session: 's', agent: gate.agent, input: 'Hello' })
      await gate.reached
      const closed = first.close()
      gate.open()
      await closed
      expect(gate.calls).toHaveLength(2)
      expect((await server.manager.getInfo('s'))?.lease).toBeNull()
      runtime({ agents: [gate.agent], engine: createEngine() })
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'Wait. Through.' })
      expect(gate.calls).toHaveLength(3)
      const types: string[] = []
      for await (const { chunk } of run.stream()) types.push(chunk.type)
      expect(types).not.toContain('step-discarded')
      await close()
    })

    test('aborts after the grace period, and another engine continues', async () => {
      const { runtime, close } = setUp()
      const gate = new Gate()
      const server = runtime({ engine: false })
      const first = runtime({ agents: [gate.agent], engine: createEngine({ graceMs: 20 }) })
      const run = await server.start({ agent: gate.agent, input: 'Hello' })
      await gate.reached
      await first.close()
      gate.open()
      runtime({ agents: [gate.agent], engine: createEngine() })
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'Wait. Through.' })
      // The interrupted call was repeated with its key. The model calls were not.
      expect(gate.calls.filter(key => key === gate.calls[1])).toHaveLength(2)
      expect(gate.calls).toHaveLength(4)
      await close()
    })

    test('respects its concurrency, and loses no wake-up meanwhile', async () => {
      const driver = new FakeDriver()
      const engine = createEngine({ concurrency: 2 })
      engine.start(driver)
      const sessions = ['a', 'b', 'c', 'd', 'e', 'f']
      for (const id of sessions) {
        driver.makeDue(id)
        engine.wake(id)
      }
      for (let n = 0; n < sessions.length; n++) {
        await driver.until(n + 1)
        driver.end(driver.drives[n] as string)
      }
      expect(driver.drives.toSorted()).toEqual(sessions)
      expect(driver.maxActive).toBe(2)
      await engine.stop()
    })

    test('drives a session again that is woken while it is driven', async () => {
      const driver = new FakeDriver()
      const engine = createEngine()
      engine.start(driver)
      driver.makeDue('a')
      engine.wake('a')
      await driver.until(1)
      engine.wake('a')
      driver.end('a')
      await driver.until(2)
      expect(driver.maxActive).toBe(1)
      driver.end('a')
      await engine.stop()
    })

    test('backs off from a session that cannot be driven, without delaying others', async () => {
      const driver = new FakeDriver()
      const engine = createEngine({ concurrency: 1 })
      driver.failing.add('broken')
      driver.makeDue('broken')
      engine.start(driver)
      await driver.until(1)
      const others = ['a', 'b', 'c']
      for (const id of others) driver.makeDue(id)
      // On a slow machine it may be retried before the last of the others.
      for (let n = 1; n < others.length + 2; n++) {
        await driver.until(n + 1)
        driver.end(driver.drives[n] as string)
      }
      expect(driver.drives.slice(0, 2)).toEqual(['broken', 'a'])
      expect(driver.drives).toEqual(expect.arrayContaining(others))
      expect(driver.drives.filter(id => id === 'broken')).toHaveLength(2)
      await engine.stop()
    })

    test('starts once, and can be stopped repeatedly, started or not', async () => {
      const driver = new FakeDriver()
      const engine = createEngine()
      engine.start(driver)
      expect(() => engine.start(driver)).toThrow('create one for each runtime')
      await Promise.all([engine.stop(), engine.stop()])
      await engine.stop()
      expect([driver.handOvers, driver.abandoned]).toEqual([1, 0])
      driver.makeDue('a')
      engine.wake('a')
      expect(driver.drives).toEqual([])
      expect(() => engine.start(driver)).toThrow('create one for each runtime')
      await createEngine().stop()
    })
  })
}
