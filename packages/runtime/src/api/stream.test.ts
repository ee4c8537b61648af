import { memoryStore } from '@millrace/log'
import { decodeCursor } from '@millrace/protocol'
import { describe, expect, test, vi } from 'vitest'
import type { RunStream } from './stream.ts'
import {
  codeOf,
  countedStore,
  echo,
  gate,
  logOf,
  patient,
  testRuntime,
  typesOf,
  until,
} from './test-runtime.fixture.ts'

const all = async (stream: RunStream) => {
  const entries = []
  for await (const entry of stream) entries.push(entry)
  return entries
}

describe('run.stream()', () => {
  test('streams a run from start to end, and exactly what follows a cursor', async () => {
    const held = gate()
    const agent = patient(held)
    const runtime = testRuntime({ agents: [agent] })
    const run = await runtime.start({ agent, input: 'hi', session: 's' })
    const live = all(run.stream())
    const { cursor, sequence } = await until(run, 'text-delta')
    held.open()
    const entries = await live
    expect(typesOf(entries).at(0)).toBe('run-started')
    expect(typesOf(entries).at(-1)).toBe('run-finished')
    const again = await all(runtime.run('s', run.runId).stream())
    expect(again).toEqual(entries)
    const rest = entries.filter(entry => entry.sequence > sequence)
    expect(await all(run.stream({ after: cursor }))).toEqual(rest)
    expect(await all(run.stream({ after: sequence }))).toEqual(rest)
    expect(await all(run.stream({ after: entries.at(-1)?.cursor ?? '' }))).toEqual([])
  })

  test('omits entries of other runs of the session', async () => {
    const runtime = testRuntime({ agents: [echo] })
    for (const input of ['a', 'b', 'c']) {
      const run = await runtime.start({ agent: echo, input, session: 's', runId: input })
      const entries = await all(run.stream())
      expect(new Set(entries.map(({ origin }) => origin.runId))).toEqual(new Set([input]))
      expect(typesOf(entries).at(-1)).toBe('run-finished')
    }
  })

  test('releases everything when a reader leaves early', async () => {
    const held = gate()
    const agent = patient(held)
    const { store, watches } = countedStore()
    const driver = testRuntime({ store, agents: [agent] })
    const run = await driver.start({ agent, input: 'hi', session: 's' })
    await until(run, 'text-delta')
    const before = watches()
    const reader = testRuntime({ store, engine: false }).run('s', run.runId)
    for await (const { chunk } of reader.stream()) if (chunk.type === 'text-delta') break
    expect(watches()).toBe(before)
    // A stream that waits releases its watch too.
    const stream = reader.stream({ after: (await until(run, 'text-delta')).cursor })
    const next = stream.next()
    await stream.return()
    expect(await next).toEqual({ done: true, value: undefined })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    const controller = new AbortController()
    const aborted = reader.result({ signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(aborted).rejects.toThrow('enough')
    expect(watches()).toBe(before)
    held.open()
    expect((await run.result()).text).toBe('one two')
  })

  test('ends at the current pause, not at an earlier one, and continues from there', async () => {
    const runtime = testRuntime({ engine: false })
    const { manager } = runtime
    await manager.createStream('s')
    const writer = await manager.createWriter('s', { runId: 'r', agentType: 'a' })
    await writer.commit([{ type: 'text-delta', id: 't', delta: 'a' }])
    await manager.pauseStream('s', 'by hand')
    const run = runtime.run('s', 'r')
    const first = await all(run.stream())
    expect(typesOf(first).at(-1)).toBe('run-paused')
    expect(await run.result()).toMatchObject({ status: 'paused', reason: 'by hand', text: 'a' })
    await manager.resumeStream('s')
    const second = all(run.stream())
    const rest = all(run.stream({ after: first.at(-1)?.cursor ?? '' }))
    await manager.pauseStream('s')
    expect(typesOf(await rest)).toEqual(['run-resumed', 'run-paused'])
    expect(typesOf(await second)).toEqual([...typesOf(first), 'run-resumed', 'run-paused'])
    await manager.resumeStream('s')
    await manager.endStream('s')
    expect(typesOf(await all(run.stream())).at(-1)).toBe('run-finished')
    expect((await run.result()).status).toBe('completed')
  })

  test('returns cursors of one incarnation if the session is recreated during the lookup', async () => {
    const runtime = testRuntime({ engine: false })
    const { manager } = runtime
    const pausedRun = async (texts: readonly string[]) => {
      await manager.createStream('s')
      const writer = await manager.createWriter('s', { runId: 'r', agentType: 'a' })
      for (const delta of texts) await writer.commit([{ type: 'text-delta', id: 't', delta }])
      await manager.pauseStream('s')
    }
    await pausedRun(['a'])
    const run = runtime.run('s', 'r')
    const look = manager.getInfo.bind(manager)
    const again = vi.spyOn(manager, 'readBatches').mockImplementationOnce((...args) => {
      again.mockRestore()
      vi.spyOn(manager, 'getInfo').mockImplementationOnce(async sessionId => {
        const before = await look(sessionId)
        await manager.deleteStream('s')
        await pausedRun(['b', 'c', 'd'])
        return before
      })
      return manager.readBatches(...args)
    })
    const entries = await all(run.stream())
    const { incarnation } = (await look('s')) ?? {}
    expect(entries.map(({ cursor }) => decodeCursor(cursor).incarnation)).toEqual(entries.map(() => incarnation))
    expect(typesOf(entries).at(-1)).toBe('run-paused')
    expect(entries).toHaveLength((await look('s'))?.head ?? 0)
  })

  test('streams all entries of a run that a later run has just rewound', async () => {
    const runtime = testRuntime({ agents: [echo] })
    const { manager } = runtime
    let last = (await runtime.start({ agent: echo, input: 'a', session: 's' })).runId
    for (const isFromStart of [true, false]) {
      const entries = await all(runtime.run('s', last).stream())
      const options = isFromStart ? {} : { after: entries[2]?.cursor ?? '' }
      const open = manager.readBatches.bind(manager)
      // Delays the read, as a slow store does.
      const late = vi.spyOn(manager, 'readBatches').mockImplementationOnce((...args) => {
        const reader = open(...args)
        vi.spyOn(reader, 'next').mockImplementationOnce(async () => {
          const again = await runtime.retry('s', last)
          await again.result()
          last = again.runId
          return reader.next()
        })
        return reader
      })
      const seen = await all(runtime.run('s', last).stream(options))
      late.mockRestore()
      expect(seen).toEqual(isFromStart ? entries : entries.slice(3))
      expect(typesOf(seen).at(-1)).toBe('run-finished')
    }
  })

  test('streams a run after a trim before its start, and reports a trimmed start', async () => {
    const runtime = testRuntime({ agents: [echo] })
    for (const runId of ['a', 'b', 'c']) {
      // With a context the request has two entries, the first of which is trimmed below.
      await (await runtime.start({ agent: echo, input: runId, session: 's', runId, context: {} })).result()
    }
    const log = await logOf(runtime, 's')
    const at = log.find(({ chunk, origin }) => chunk.type === 'run-started' && origin.runId === 'c')?.sequence ?? 0
    await runtime.manager.trimStream('s', { maxEntries: log.length - at + 1 })
    expect((await runtime.manager.getInfo('s'))?.floor).toBe(at - 1)
    expect(typesOf(await all(runtime.run('s', 'c').stream()))[0]).toBe('run-started')
    await expect(all(runtime.run('s', 'b').stream())).rejects.toThrow('below-floor')
  })
})

describe('a run that does not start', () => {
  test('reports that its request was cancelled', async () => {
    const held = gate()
    const agent = patient(held)
    const runtime = testRuntime({ agents: [agent] })
    const first = await runtime.start({ agent, input: 'a', session: 's' })
    await until(first, 'text-delta')
    const second = await runtime.start({ agent, input: 'b', session: 's', runId: 'b', whenBusy: 'queue' })
    const other = runtime.run('s', 'b')
    const outcomes = [second.result(), all(second.stream()), other.result(), all(other.stream())].map(codeOf)
    expect(await second.stop()).toBe(true)
    expect(await Promise.all(outcomes)).toEqual(Array(4).fill('run_taken_back'))
    expect(await codeOf(runtime.run('s', 'b').result())).toBe('run_taken_back')
    // A repeated stop succeeds. A stop of another user is too late.
    expect(await second.stop()).toBe(true)
    expect(await runtime.stop('s', 'b', { guest: 'bob' })).toBe(false)
    // The open run was not stopped.
    held.open()
    expect((await first.result()).status).toBe('completed')
  })

  test('reports that the run or the session does not exist', async () => {
    const runtime = testRuntime({ agents: [echo] })
    await (await runtime.start({ agent: echo, input: 'a', session: 's' })).result()
    expect(await codeOf(runtime.run('s', 'missing').result())).toBe('run_unknown')
    expect(await codeOf(all(runtime.run('s', 'missing').stream()))).toBe('run_unknown')
    expect(await codeOf(runtime.run('nowhere', 'r').result())).toBe('session_unknown')
    expect(await codeOf(runtime.run('nowhere', 'r').stop())).toBe('session_unknown')
    expect(await codeOf(runtime.run('s', 'missing').stop())).toBe('run_unknown')
  })

  test('keeps waiting for a driver', async () => {
    const store = memoryStore()
    const server = testRuntime({ store, engine: false })
    const run = await server.start({ agent: echo, input: 'later', session: 's' })
    const result = run.result()
    const entries = all(run.stream())
    testRuntime({ store, agents: [echo] })
    expect((await result).text).toBe('0: later')
    expect(typesOf(await entries).at(-1)).toBe('run-finished')
  })
})
