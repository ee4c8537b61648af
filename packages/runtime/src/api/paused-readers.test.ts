// Readers of a waiting run see its current pendings and do not wait themselves.

import { Memory, memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../define/tool.ts'
import { caller } from '../execute/agent/run-to-end.fixture.ts'
import { approve, call, counted, scripted, sendResult, startRun } from './pendings.fixture.ts'
import type { Run } from './run.ts'
import type { StreamOptions } from './stream.ts'
import { codeOf, testRuntime, typesOf } from './test-runtime.fixture.ts'

const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })

const all = async (run: Run, options: StreamOptions = {}) => {
  const entries = []
  for await (const entry of run.stream(options)) entries.push(entry)
  return entries
}

/** A run that waits for the results of `c1` and `c2`. */
async function waiting() {
  const { agent: testAgent } = caller([locate], [call('locate', 'c1'), call('locate', 'c2')])
  const begun = await startRun(testAgent)
  const entries = await all(begun.run)
  expect(typesOf(entries).at(-1)).toBe('run-paused')
  return { ...begun, entries, cursor: entries.at(-1)?.cursor ?? '' }
}

describe('readers of a paused run', () => {
  test('result() returns the current pendings with their claims', async () => {
    const { runtime, run } = await waiting()
    await runtime.claim('s', 'c2', { forMs: 60_000, by: 'tab' })
    await sendResult(runtime, 'c1')
    for (const any of [run, runtime.run('s', 'r')]) {
      const { status, pendings, suspended } = await any.result()
      expect(status).toBe('paused')
      expect(pendings).toEqual((await runtime.view('s')).view.pendings)
      expect(pendings).toMatchObject([{ id: 'c2', part: { claim: { by: 'tab' } } }])
      expect(suspended).toMatchObject({ kind: 'suspended_step_partial', toolCallIds: ['c2'] })
    }
    await sendResult(runtime, 'c2')
    expect(await run.result()).toMatchObject({ status: 'completed', pendings: [] })
  })

  test('streams from the pause, or after it, to the current state', async () => {
    const { runtime, run, entries, cursor } = await waiting()
    expect(await all(run, { after: cursor })).toEqual([])
    expect(await all(run, { after: entries.at(-1)?.sequence ?? 0 })).toEqual([])
    await runtime.claim('s', 'c2', { forMs: 60_000 })
    await sendResult(runtime, 'c1')
    const since = await all(run, { after: cursor })
    expect(typesOf(since)).toEqual(['tool-claimed', 'tool-output-available'])
    expect(await all(run, { after: since[0]?.cursor ?? '' })).toEqual(since.slice(1))
    expect(await all(run, { after: since[1]?.cursor ?? '' })).toEqual([])
    expect(await all(run)).toEqual([...entries, ...since])
    await sendResult(runtime, 'c2')
    const rest = await all(run, { after: since[1]?.cursor ?? '' })
    expect(typesOf(rest).slice(0, 2)).toEqual(['tool-output-available', 'run-resumed'])
    expect(typesOf(rest).at(-1)).toBe('run-finished')
  })

  test('rejects positions of other logs', async () => {
    const { run, cursor, entries } = await waiting()
    const [sequence, incarnation, epoch] = cursor.split('.')
    const head = entries.at(-1)?.sequence ?? 0
    expect(await codeOf(all(run, { after: `${sequence}.${incarnation}.other` }))).toBe('session_trimmed')
    expect(await codeOf(all(run, { after: `${sequence}.other.${epoch}` }))).toBe('session_trimmed')
    expect(await codeOf(all(run, { after: head + 1 }))).toBe('session_trimmed')
    expect(await codeOf(all(run, { after: 'nowhere' }))).toBe('validation_failed')
  })

  test('keeps streaming after an answer, even without a driver', async () => {
    const memory = new Memory()
    const pay = counted('pay', true)
    const { agent: testAgent } = caller([pay.tool], [call('pay', 'c1', { n: 1 })])
    const first = await startRun(testAgent, { store: memoryStore(undefined, memory) })
    const cursor = (await all(first.run)).at(-1)?.cursor ?? ''
    await first.runtime.close()
    const apiRuntime = testRuntime({ store: memoryStore(undefined, memory), engine: false })
    await approve(apiRuntime, 'c1')
    const seen = [all(apiRuntime.run('s', 'r'), { after: cursor }), all(apiRuntime.run('s', 'r'))]
    const result = apiRuntime.run('s', 'r').result()
    testRuntime({ store: memoryStore(undefined, memory), agents: [testAgent] })
    for (const entries of await Promise.all(seen)) expect(typesOf(entries).at(-1)).toBe('run-finished')
    expect((await result).status).toBe('completed')
  })
})

test('reads a number of entries that is linear in the pauses of a run', async () => {
  const pay = counted('pay', true)
  const pauses = 24
  const answers = Array.from({ length: pauses }, (_, n) => ({ calls: [call('pay', `c${n}`, { n })] }))
  const store = memoryStore()
  let reads = 0
  const read = store.read.bind(store)
  store.read = (...args) => {
    reads++
    return read(...args)
  }
  const scriptedAgent = scripted('stepper', [...answers, { text: 'Done.' }], {
    tools: [pay.tool],
    maxSteps: pauses + 1,
  })
  const { runtime, run } = await startRun(scriptedAgent.agent, { store, engine: { pollMs: 60_000, graceMs: 0 } })
  for (let n = 0; n < pauses; n++) {
    expect((await run.result()).status).toBe('paused')
    reads = 0
    await run.result()
    expect(reads).toBeLessThanOrEqual(8)
    await approve(runtime, `c${n}`)
  }
  expect((await run.result()).status).toBe('completed')
})
