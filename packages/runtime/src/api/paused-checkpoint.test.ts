// Resumption of a paused run: the mode of the resume, and the last checkpoint before the pause.

import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../define/tool.ts'
import { workflow } from '../define/workflow.ts'
import { chunksOf } from '../execute/agent/run-to-end.fixture.ts'
import { useInterrupt } from '../execute/hooks/use-interrupt.ts'
import { approve, call, counted, scripted, sendResult, startRun, validLog } from './pendings.fixture.ts'
import type { Runtime } from './runtime.ts'
import { logOf, testRuntime } from './test-runtime.fixture.ts'

/** Calls a free tool in the first step, and waits for approvals and a client tool in the second. */
async function open(calls = [call('pay', 'c1', { n: 1 })]) {
  const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
  const { agent } = scripted(
    'payer',
    [{ calls: [call('free', 'c0', { n: 0 })] }, { text: 'May I? ', calls }, { text: 'Done.' }],
    { tools: [counted('free').tool, counted('pay', true).tool, locate] },
  )
  const started = await startRun(agent)
  expect((await started.run.result()).status).toBe('paused')
  return { ...started, agent }
}

/** Pauses and resumptions of a session, and the checkpoints of its main lane before each. */
async function resumptions(runtime: Runtime) {
  let last: { readonly id: string; readonly count: number | undefined } | undefined
  const found: { readonly chunk: Chunk; readonly last: typeof last }[] = []
  for (const { chunk, origin } of await logOf(runtime, 's')) {
    const isMain = origin.guest === undefined && origin.lane === 'main' && origin.agentId === origin.runId
    if (chunk.type === 'checkpoint-created' && isMain) last = { id: chunk.checkpointId, count: chunk.stepCount }
    if (chunk.type === 'run-paused' || chunk.type === 'run-resumed') found.push({ chunk, last })
  }
  return found
}

/** Expects that each pause names the last checkpoint before it, and each resumption that of its pause. */
async function expectCheckpoints(runtime: Runtime, count: number): Promise<void> {
  const found = await resumptions(runtime)
  expect(found).toHaveLength(count)
  for (const { chunk, last } of found) {
    expect(last).toBeDefined()
    if (chunk.type === 'run-paused') expect([chunk.checkpointId, chunk.stepCount]).toEqual([last?.id, last?.count])
    if (chunk.type === 'run-resumed')
      expect([chunk.fromCheckpointId, chunk.fromStepCount]).toEqual([last?.id, last?.count])
  }
}

const modes = async (runtime: Runtime) => chunksOf(await logOf(runtime, 's'), 'run-resumed').map(({ mode }) => mode)

describe('a paused run', () => {
  test('resumes from its last checkpoint, in the mode continue after an answer', async () => {
    const { runtime, run } = await open()
    await approve(runtime, 'c1')
    expect((await run.result()).status).toBe('completed')
    await expectCheckpoints(runtime, 2)
    expect(chunksOf(await validLog(runtime), 'run-resumed')).toMatchObject([{ mode: 'continue', fromStepCount: 2 }])
  })

  test.each([true, false])('resumes in the mode with-confirmation after a confirmation of %s', async approved => {
    const { runtime, run } = await open([call('pay', 'c1', { n: 1 }), call('pay', 'c2', { n: 2 })])
    await runtime.resume('s', 'r', { mode: 'with-confirmation', approved })
    expect((await run.result()).status).toBe('completed')
    await expectCheckpoints(runtime, 2)
    expect(await modes(runtime)).toEqual(['with-confirmation'])
  })

  test('resumes in the mode with-confirmation without its id', async () => {
    const { runtime, run } = await open()
    expect((await runtime.resume('s', undefined, { mode: 'with-confirmation', approved: true })).runId).toBe('r')
    await run.result()
    expect(await modes(runtime)).toEqual(['with-confirmation'])
  })

  test('resumes in the mode continue after a later pause that an answer ends', async () => {
    const { runtime, run } = await open([call('pay', 'c1', { n: 1 }), call('locate', 'c2')])
    await runtime.resume('s', 'r', { mode: 'with-confirmation', approved: true })
    let result = await run.result()
    while (result.pendings.some(({ kind }) => kind === 'approval')) result = await run.result()
    await sendResult(runtime, 'c2')
    while (result.status === 'paused') result = await run.result()
    expect(await modes(runtime)).toEqual(['with-confirmation', 'continue'])
    await expectCheckpoints(runtime, 4)
  })

  test('names its checkpoint again if another process resumes and pauses it without a commit', async () => {
    const { runtime, agent } = await open([call('pay', 'c1', { n: 1 }), call('locate', 'c2')])
    const { manager } = runtime
    await runtime.close()
    const writer = await testRuntime({ store: manager.store, engine: false }).manager.createWriter('s', {
      runId: 'r',
      agentType: 'payer',
      program: agent.program,
    })
    await writer.begin()
    await writer.close()
    const other = testRuntime({ store: manager.store, agents: [agent] })
    expect((await other.run('s', 'r').result()).status).toBe('paused')
    await expectCheckpoints(other, 3)
  })

  test('resumes from a checkpoint of its node in a workflow', async () => {
    const asker = workflow({
      id: 'asker',
      nodes: {
        begin: () => ({}),
        ask: async () => ({ data: await useInterrupt({ request: { kind: 'text', question: 'Who?' } }) }),
      },
      edges: [
        ['start', 'begin'],
        ['begin', 'ask'],
        ['ask', 'end'],
      ],
    })
    const runtime = testRuntime({ workflows: [asker] })
    const run = await runtime.start({ workflow: asker, session: 's', runId: 'r' })
    const [pending] = (await run.result()).pendings
    await runtime.answer('s', { kind: 'interrupt', id: pending?.id ?? '', response: 'me' })
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'me' })
    await expectCheckpoints(runtime, 2)
    expect(await modes(runtime)).toEqual(['continue'])
  })
})
