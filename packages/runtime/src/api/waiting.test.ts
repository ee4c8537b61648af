// Whoever looks at a run that waits is shown what waits now, and is not kept waiting themselves.

import { Memory, memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../define/tool.ts'
import { caller } from '../execute/agent/play.fixture.ts'
import { approve, begin, call, counted, give, scripted } from './people.fixture.ts'
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
  const { agent: own } = caller([locate], [call('locate', 'c1'), call('locate', 'c2')])
  const begun = await begin(own)
  const entries = await all(begun.run)
  expect(typesOf(entries).at(-1)).toBe('run-paused')
  return { ...begun, entries, cursor: entries.at(-1)?.cursor ?? '' }
}

describe('a run that waits', () => {
  test('tells what waits now: not what was answered since, and who has claimed what', async () => {
    const { runtime, run } = await waiting()
    await runtime.claim('s', 'c2', { forMs: 60_000, by: 'tab' })
    await give(runtime, 'c1')
    for (const any of [run, runtime.run('s', 'r')]) {
      const { status, pendings, suspended } = await any.result()
      expect(status).toBe('paused')
      expect(pendings).toEqual((await runtime.view('s')).view.pendings)
      expect(pendings).toMatchObject([{ id: 'c2', part: { claim: { by: 'tab' } } }])
      expect(suspended).toMatchObject({ kind: 'suspended_step_partial', toolCallIds: ['c2'] })
    }
    await give(runtime, 'c2')
    expect(await run.result()).toMatchObject({ status: 'completed', pendings: [] })
  })

  test('is streamed from its pause, or from after it, to where it waits now', async () => {
    const { runtime, run, entries, cursor } = await waiting()
    expect(await all(run, { after: cursor })).toEqual([])
    expect(await all(run, { after: entries.at(-1)?.sequence ?? 0 })).toEqual([])
    await runtime.claim('s', 'c2', { forMs: 60_000 })
    await give(runtime, 'c1')
    const since = await all(run, { after: cursor })
    expect(typesOf(since)).toEqual(['tool-claimed', 'tool-output-available'])
    expect(await all(run, { after: since[0]?.cursor ?? '' })).toEqual(since.slice(1))
    expect(await all(run, { after: since[1]?.cursor ?? '' })).toEqual([])
    expect(await all(run)).toEqual([...entries, ...since])
    await give(runtime, 'c2')
    const rest = await all(run, { after: since[1]?.cursor ?? '' })
    expect(typesOf(rest).slice(0, 2)).toEqual(['tool-output-available', 'run-resumed'])
    expect(typesOf(rest).at(-1)).toBe('run-finished')
  })

  test('is streamed from no place that is not its own', async () => {
    const { run, cursor, entries } = await waiting()
    const [sequence, incarnation, epoch] = cursor.split('.')
    const head = entries.at(-1)?.sequence ?? 0
    expect(await codeOf(all(run, { after: `${sequence}.${incarnation}.other` }))).toBe('session_trimmed')
    expect(await codeOf(all(run, { after: `${sequence}.other.${epoch}` }))).toBe('session_trimmed')
    expect(await codeOf(all(run, { after: head + 1 }))).toBe('session_trimmed')
    expect(await codeOf(all(run, { after: 'nowhere' }))).toBe('validation_failed')
  })

  test('ends no stream once it was answered, though nobody drives it yet', async () => {
    const memory = new Memory()
    const pay = counted('pay', true)
    const { agent: own } = caller([pay.tool], [call('pay', 'c1', { n: 1 })])
    const first = await begin(own, { store: memoryStore(undefined, memory) })
    const cursor = (await all(first.run)).at(-1)?.cursor ?? ''
    await first.runtime.close()
    const desk = testRuntime({ store: memoryStore(undefined, memory), engine: false })
    await approve(desk, 'c1')
    const seen = [all(desk.run('s', 'r'), { after: cursor }), all(desk.run('s', 'r'))]
    const result = desk.run('s', 'r').result()
    testRuntime({ store: memoryStore(undefined, memory), agents: [own] })
    for (const entries of await Promise.all(seen)) expect(typesOf(entries).at(-1)).toBe('run-finished')
    expect((await result).status).toBe('completed')
  })
})

test('what a look at a run reads does not grow with the square of its pauses', async () => {
  const pay = counted('pay', true)
  const pauses = 24
  const answers = Array.from({ length: pauses }, (_, n) => ({ calls: [call('pay', `c${n}`, { n })] }))
  const store = memoryStore()
  let reads = 0
  const read = store.read.bind(store)
  store.read = (...asked) => {
    reads++
    return read(...asked)
  }
  const own = scripted('stepper', [...answers, { text: 'Done.' }], { tools: [pay.tool], maxSteps: pauses + 1 })
  const { runtime, run } = await begin(own.agent, { store, engine: { pollMs: 60_000, graceMs: 0 } })
  for (let n = 0; n < pauses; n++) {
    expect((await run.result()).status).toBe('paused')
    reads = 0
    await run.result()
    expect(reads).toBeLessThanOrEqual(8)
    await approve(runtime, `c${n}`)
  }
  expect((await run.result()).status).toBe('completed')
})
