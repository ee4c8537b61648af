import { expect, test } from 'vitest'
import { z } from 'zod'
import { approve, call, counted, sendResult, startRun, validLog } from '../api/pendings.fixture.ts'
import type { Runtime } from '../api/runtime.ts'
import { testRuntime } from '../api/test-runtime.fixture.ts'
import { tool } from '../define/tool.ts'
import { caller, chunksOf } from '../execute/agent/run-to-end.fixture.ts'

/** Runs a function when a call waits for approval and the pause is not committed yet. */
function beforePause({ manager }: Runtime, happen: () => Promise<unknown>): void {
  const getInfo = manager.getInfo.bind(manager)
  manager.getInfo = async sessionId => {
    const info = await getInfo(sessionId)
    const log = await manager.entries(sessionId, 0, info?.head ?? 0)
    if (!log.some(({ chunk }) => chunk.type === 'tool-approval-request')) return info
    manager.getInfo = getInfo
    await happen()
    return getInfo(sessionId)
  }
}

test('law 5: an answer just before the pause is not missed', async () => {
  const pay = counted('pay', true)
  const { agent: testAgent } = caller([pay.tool], [call('pay', 'c1', { n: 1 })])
  const runtime = testRuntime({ agents: [testAgent] })
  const answered: Promise<unknown>[] = []
  beforePause(runtime, async () => {
    answered.push(approve(runtime, 'c1'))
    await answered[0]
  })
  const run = await runtime.start({ agent: testAgent, input: 'Go.', session: 's', runId: 'r' })
  expect(await run.result()).toMatchObject({ status: 'completed' })
  expect(answered).toHaveLength(1)
  expect(pay.ran).toEqual([1])
  // It never paused.
  expect(chunksOf(await validLog(runtime), 'run-paused')).toEqual([])
})

test('law 5: a stop just before the pause ends the run', async () => {
  const pay = counted('pay', true)
  const { agent: testAgent } = caller([pay.tool], [call('pay', 'c1', { n: 1 })])
  const runtime = testRuntime({ agents: [testAgent] })
  beforePause(runtime, () => runtime.stop('s', 'r'))
  const run = await runtime.start({ agent: testAgent, input: 'Go.', session: 's', runId: 'r' })
  expect(await run.result()).toMatchObject({ status: 'interrupted' })
  expect(chunksOf(await validLog(runtime), 'run-paused')).toEqual([])
})

test('law 5: counts one answer before and one after the pause', async () => {
  const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
  const pay = counted('pay', true)
  const { agent: testAgent } = caller([pay.tool, locate], [call('pay', 'c1', { n: 1 }), call('locate', 'c2')])
  const runtime = testRuntime({ agents: [testAgent] })
  beforePause(runtime, () => approve(runtime, 'c1'))
  const run = await runtime.start({ agent: testAgent, input: 'Go.', session: 's', runId: 'r' })
  expect(await run.result()).toMatchObject({ status: 'paused', pendings: [{ id: 'c2' }] })
  expect(pay.ran).toEqual([1])
  await sendResult(runtime, 'c2')
  expect(await run.result()).toMatchObject({ status: 'completed' })
  await validLog(runtime)
})

test('lists the pendings and their deadlines in the pause', async () => {
  const pay = counted('pay', { timeoutMs: 1000 })
  const { runtime, run } = await startRun(caller([pay.tool], [call('pay', 'c1', { n: 1 })]).agent)
  await run.result()
  const [paused] = chunksOf(await validLog(runtime), 'run-paused')
  expect(paused?.awaits).toMatchObject([
    { kind: 'approval', id: 'r::c1', toolCallId: 'c1', deadline: expect.any(Number) },
  ])
})

test('law 6: truncates a pause that exceeds the entry size, and all pendings can be answered', async () => {
  const pay = counted('pay', true)
  const ids = Array.from({ length: 60 }, (_, n) => `c${n}`)
  const { agent: testAgent } = caller(
    [pay.tool],
    ids.map((id, n) => call('pay', id, { n })),
  )
  const observers = [{ onPaused() {} }]
  const { runtime, run } = await startRun(testAgent, { log: { maxEntryBytes: 4096 }, observers })
  expect(await run.result()).toMatchObject({ status: 'paused', pendings: ids.map(id => ({ id: `r::${id}` })) })
  const [paused] = chunksOf(await validLog(runtime), 'run-paused')
  const listed = paused?.awaits ?? []
  expect(listed.map(({ id }) => id)).toEqual(ids.slice(0, listed.length).map(id => `r::${id}`))
  // The list has as many pendings as fit.
  const bytes = Buffer.byteLength(JSON.stringify(paused))
  expect(bytes + Buffer.byteLength(JSON.stringify(listed[0]))).toBeGreaterThan(4096 - 500)
  for (const id of ids) await approve(runtime, id)
  expect(await run.result()).toMatchObject({ status: 'completed' })
  expect(pay.ran).toHaveLength(ids.length)
})
