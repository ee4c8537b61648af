import type { Entry, Json } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Runtime } from '../../api/runtime.ts'
import { codeOf } from '../../api/test-runtime.fixture.ts'
import type { NodeContext, NodeDefinition } from '../../define/node.ts'
import { tool } from '../../define/tool.ts'
import { isEndOf, VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { recordingModel, reportsOf, resultsIn } from '../agent/run-to-end.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useNodeState, useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { useStructuredData } from '../hooks/use-structured-data.ts'
import { sequence, single, textInterrupt, WorkflowTestRun, wired } from '../workflow/workflow-test-run.fixture.ts'

const SESSION = 's'

/** Answers the only interrupt of a waiting run. */
async function answer(runtime: Runtime, runId: string, response: string): Promise<void> {
  const { pendings } = await runtime.run(SESSION, runId).result()
  expect(pendings).toHaveLength(1)
  await runtime.answer(SESSION, { kind: 'interrupt', id: pendings[0]?.id ?? '', response })
}

const ofRun = (log: readonly Entry[], runId: string): Entry[] => log.filter(({ origin }) => origin.runId === runId)

describe('a run that resumes an interrupted run', () => {
  test('continues at its position and repeats no committed step, question, text or usage', async () => {
    const done: string[] = []
    const { model, modelCalls: received } = recordingModel([{ text: 'Dear Ann' }])
    const testWorkflow = sequence({
      first: async ({ input }: NodeContext<string>) => {
        const [, set] = useWorkflowState<string[]>('seen')
        set(['first'])
        await useStep('once', () => void done.push('first'))
        return { data: `${input}!` }
      },
      second: async ({ input }: NodeContext<string>) => {
        done.push('second begins')
        const [seen, set] = useWorkflowState<string[]>('seen', [])
        const [count, setOwn] = useNodeState(1)
        useStructuredData({ data: { input } })
        useStructuredData({ kind: 'append', streamId: 'list', path: 'items', items: [1] })
        const { text } = await useReason({ model, input: 'Write' })
        set([...seen, 'second'])
        setOwn(count + 1)
        const name = await useInterrupt(textInterrupt('Who?', { id: 'name' }))
        const key = await useStep('key', ({ idempotencyKey }) => idempotencyKey)
        const when = await useInterrupt(textInterrupt('When?', { id: 'when' }))
        useStructuredData({ kind: 'append', streamId: 'list', path: 'items', items: [2] })
        const [state] = useWorkflowState('seen')
        return { data: { input, text, name, when, key, state, own: count }, ui: { message: 'There' } }
      },
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await answer(testRun.runtime, 'r', 'Ann')
    expect(await testRun.questionIds()).toEqual(['1.second.1/useInterrupt:when.1'])
    await testRun.runtime.stop(SESSION, 'r')
    expect((await testRun.result()).status).toBe('interrupted')
    const old = (await testRun.log()).length
    const run = await testRun.runtime.resume(SESSION, 'r', { runId: 'r2' })
    const paused = await run.result()
    expect(paused.pendings.map(({ id }) => id)).toEqual(['r2::1.second.1/useInterrupt:when.1'])
    await testRun.restart()
    await answer(testRun.runtime, 'r2', 'Now')
    const { status, output, text } = await testRun.runtime.run(SESSION, 'r2').result()
    expect({ status, output, text }).toEqual({
      status: 'completed',
      text: 'There',
      output: {
        input: 'Go.!',
        text: 'Dear Ann',
        name: 'Ann',
        when: 'Now',
        key: 's/r/1.second.1%2FuseStep%3Akey.1',
        state: ['first', 'second'],
        own: 1,
      },
    })
    expect(received).toHaveLength(1)
    expect(done.filter(line => line === 'first')).toHaveLength(1)
    const log = await testRun.log()
    const fresh = log.slice(old)
    expect(fresh.some(({ chunk }) => chunk.type === 'rewind')).toBe(false)
    const shown = fresh.filter(({ chunk }) => chunk.type === 'structured-data')
    expect(shown.map(({ chunk }) => chunk)).toMatchObject([{ kind: 'append', items: [2] }])
    const { view } = await testRun.runtime.view(SESSION)
    expect(view.structured.map(({ data }) => data)).toEqual([{ input: 'Go.!' }, { items: [1, 2] }])
    // It records its own position, so that the other run need not be read.
    const sent = ofRun(fresh, 'r2').filter(({ chunk }) => chunk.type === 'status' || chunk.type === 'session')
    expect(sent.map(({ chunk }) => chunk)).toEqual([
      { type: 'session', sessionId: SESSION },
      { type: 'status', message: 'second' },
    ])
  })

  test('calls the model only for the remaining step, with the outcomes of earlier calls', async () => {
    const ran: number[] = []
    const { model, modelCalls: received } = recordingModel([
      { text: 'First.', calls: [{ name: 'look', input: { n: 1 }, id: 'c1' }] },
      { text: 'Then.', calls: [{ name: 'pay', input: { n: 2 }, id: 'c2' }] },
      { text: 'Done.' },
    ])
    const input = z.object({ n: z.number() })
    const look = tool({ name: 'look', inputSchema: input, execute: ({ n }) => ran.push(n) })
    const pay = tool({ name: 'pay', inputSchema: input, approval: true, execute: ({ n }) => ran.push(n) })
    const testWorkflow = single(async () => {
      const { text, usage, toolResults, steps } = await useReason({ model, input: 'Go', tools: [look, pay] })
      return { data: { text, usage, toolResults, steps: steps.length } as unknown as Json }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect((await testRun.result()).pendings).toMatchObject([{ kind: 'approval' }])
    await testRun.runtime.stop(SESSION, 'r')
    await testRun.result()
    const run = await testRun.runtime.resume(SESSION, 'r', { runId: 'r2' })
    const { output, status } = await run.result()
    expect(status).toBe('completed')
    expect(received).toHaveLength(3)
    expect(Object.keys(resultsIn(received[2] as (typeof received)[number]))).toEqual(['c1', 'c2'])
    expect(output).toMatchObject({
      text: 'Done.',
      steps: 3,
      toolResults: [{ output: 1 }, { error: expect.any(String) }],
    })
    expect(ran).toEqual([1])
    await testRun.log()
  })

  test('skips finished branches and continues the others', async () => {
    const done: string[] = []
    const ask =
      (id: string): NodeDefinition =>
      async () => {
        await useStep('once', () => void done.push(id))
        return { data: id === 'b' ? id : await useInterrupt(textInterrupt(id, { id })) }
      }
    const testWorkflow = wired(
      { a: () => ({}), b: ask('b'), c: ask('c'), d: ({ input }: NodeContext<Json>) => ({ data: input }) },
      [
        ['start', 'a'],
        ['a', ['b', 'c'], { join: 'd' }],
        ['b', 'd'],
        ['c', 'd'],
        ['d', 'end'],
      ],
    )
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await testRun.questionIds()).toEqual(['1.c.1/useInterrupt:c.1'])
    await testRun.runtime.stop(SESSION, 'r')
    await testRun.result()
    await testRun.runtime.resume(SESSION, 'r', { runId: 'r2' })
    await answer(testRun.runtime, 'r2', 'C')
    expect((await testRun.runtime.run(SESSION, 'r2').result()).output).toEqual({ b: 'b', c: 'C' })
    expect(done.sort()).toEqual(['b', 'c'])
    await testRun.log()
  })

  test('gets the input of the first run; a message sent with the resumption belongs to the conversation', async () => {
    const received: Json[] = []
    const testWorkflow = single(async ({ input, messages }: NodeContext<Json>) => {
      const texts = messages.filter(({ role }) => role === 'user').flatMap(({ parts }) => parts)
      received.push([input, texts.map(part => ('text' in part ? part.text : ''))])
      return { data: await useInterrupt(textInterrupt('Well?')) }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    await testRun.runtime.stop(SESSION, 'r')
    await testRun.result()
    await testRun.runtime.resume(SESSION, 'r', { runId: 'r2', mode: 'with-message', input: 'Faster!' })
    await answer(testRun.runtime, 'r2', 'yes')
    expect((await testRun.runtime.run(SESSION, 'r2').result()).output).toBe('yes')
    expect(received.at(-1)).toEqual(['Go.', ['Go.', 'Faster!']])
  })

  test('does not see the messages of the resumed runs in its conversation', async () => {
    const received: Json[] = []
    const testWorkflow = single(async ({ messages }: NodeContext) => {
      received.push(messages.map(({ role, parts }) => [role, ...parts.map(part => ('text' in part ? part.text : ''))]))
      await useReason({ model: recordingModel([{ text: 'Hello.' }]).model, input: 'Go.' })
      return { data: await useInterrupt(textInterrupt('Well?', { id: `after ${messages.length}` })) }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    for (const [from, runId] of [
      ['r', 'r2'],
      ['r2', 'r3'],
    ] as const) {
      await testRun.runtime.run(SESSION, from).result()
      await testRun.runtime.stop(SESSION, from)
      await testRun.runtime.run(SESSION, from).result()
      await testRun.runtime.resume(SESSION, from, { runId })
    }
    await answer(testRun.runtime, 'r3', 'yes')
    expect(await testRun.runtime.run(SESSION, 'r3').result()).toMatchObject({ status: 'completed', output: 'yes' })
    for (const sent of received) expect(sent).toEqual([['user', 'Go.']])
  })

  test('repeats interrupted work under the same idempotency key and discarded work under a new one', async () => {
    const keys: string[] = []
    let isBroken = true
    const testWorkflow = sequence({
      a: async () => ({ data: await useStep('a', ({ idempotencyKey }) => void keys.push(idempotencyKey)) }),
      b: async () => {
        await useStep('b', ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
          if (isBroken) throw new Error('no')
        })
      },
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect((await testRun.result()).status).toBe('failed')
    isBroken = false
    const [first = '', ...others] = checkpointsOf(await testRun.log(), 'r')
    const again = { mode: 'from-checkpoint', checkpointId: others.at(-1) ?? '' } as const
    await (await testRun.runtime.resume(SESSION, 'r', { runId: 'r2', ...again })).result()
    expect(keys.map(key => key.split('/')[1])).toEqual(['r', 'r', 'r'])
    const back = { mode: 'from-checkpoint', checkpointId: first } as const
    await (await testRun.runtime.resume(SESSION, 'r', { runId: 'r3', ...back })).result()
    expect(keys.map(key => key.split('/')[1])).toEqual(['r', 'r', 'r', 'r3', 'r3'])
    await testRun.log()
  })
})

/** The last checkpoint of a run's main lane for each id, in order. */
const checkpointsOf = (log: readonly Entry[], runId: string): string[] => [
  ...new Set(
    ofRun(log, runId).flatMap(({ chunk, origin }) =>
      chunk.type === 'checkpoint-created' && 'lane' in origin && origin.lane === 'main' ? [chunk.checkpointId] : [],
    ),
  ),
]

describe('a run that resumes from a checkpoint', () => {
  const done: string[] = []
  const node =
    (id: string): NodeDefinition =>
    async ({ input }: NodeContext<string>) => {
      await useStep(id, () => void done.push(id))
      return { data: `${input}${id}`, ui: { message: `${id}. ` } }
    }
  const testWorkflow = sequence({ a: node('a'), b: node('b'), c: node('c') })

  test('executes the nodes after it, although the run was completed', async () => {
    done.length = 0
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect((await testRun.result()).output).toBe('Go.abc')
    const afterA = checkpointsOf(await testRun.log(), 'r').find(id => id.endsWith('/1'))
    const options = { mode: 'from-checkpoint', checkpointId: afterA ?? '', runId: 'r2' } as const
    const run = await testRun.runtime.resume(SESSION, 'r', options)
    const { output, text, status } = await run.result()
    expect({ output, text, status }).toEqual({ output: 'Go.abc', text: 'b. c. ', status: 'completed' })
    expect(done).toEqual(['a', 'b', 'c', 'b', 'c'])
    await testRun.log()
  })

  test('executes nothing if it is at the end of the run', async () => {
    done.length = 0
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    const log = await testRun.log()
    const checkpointId = checkpointsOf(log, 'r').at(-1) ?? ''
    const run = await testRun.runtime.resume(SESSION, 'r', { mode: 'from-checkpoint', checkpointId, runId: 'r2' })
    expect(await run.result()).toMatchObject({ output: 'Go.abc', status: 'completed', text: '' })
    expect(done).toEqual(['a', 'b', 'c'])
    const texts = (await testRun.log()).slice(log.length).filter(({ chunk }) => chunk.type === 'text-delta')
    expect(texts).toEqual([])
  })
})

describe('an interrupted turn', () => {
  test.each(['retry', 'edit'] as const)('starts from the beginning after %s', async how => {
    const seen: Json[] = []
    const testWorkflow = single(async ({ input }: NodeContext<string>) => {
      const [count, set] = useWorkflowState('count', 0)
      set(count + 1)
      seen.push([input, count])
      await useStep('once', () => void seen.push('step'))
      return { data: await useInterrupt(textInterrupt('Well?')) }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { start: { messageId: 'm' } })
    await testRun.result()
    await testRun.runtime.stop(SESSION, 'r')
    await testRun.result()
    const { runtime } = testRun
    if (how === 'retry') await runtime.retry(SESSION, 'r', { runId: 'r2' })
    else await runtime.edit(SESSION, 'm', 'New.', { runId: 'r2' })
    await answer(runtime, 'r2', 'yes')
    expect((await runtime.run(SESSION, 'r2').result()).output).toBe('yes')
    const input = how === 'retry' ? 'Go.' : 'New.'
    // The node that starts again after the answer finds what it had set.
    expect(seen).toEqual([['Go.', 0], 'step', [input, 0], 'step', [input, 1]])
    await testRun.log()
  })
})

/** Large enough that the copied records do not fit into one commit. */
const LARGE = 'x'.repeat(60_000)

/** A run with many records to resume from, in a cluster whose processes can be killed. */
async function much(count: number) {
  const cluster = new VirtualCluster()
  const effects: string[] = []
  const testWorkflow = single(async () => {
    const [count0, set] = useWorkflowState('count', 0)
    set(count0 + 1)
    useStructuredData({ kind: 'append', streamId: 'list', path: 'items', items: ['once'] })
    const sizes: number[] = []
    for (let n = 0; n < count; n++) {
      sizes.push((await useStep(`s${n}`, () => `${effects.push(`s${n}`)}${LARGE}`)).length)
    }
    return { data: [sizes.length, count0, await useInterrupt(textInterrupt('Well?', { id: 'well' }))] }
  })
  const process = () => cluster.process(() => [], { workflows: [testWorkflow], log: { maxEntryBytes: 100_000 } })
  const apiProcess = cluster.process(() => [], { engine: false })
  await apiProcess.runtime.start({ session: SESSION, runId: 'r', workflow: testWorkflow.program, input: 'Go.' })
  const first = process()
  await cluster.waitForEntry(SESSION, ({ chunk }) => chunk.type === 'run-paused')
  await apiProcess.runtime.stop(SESSION, 'r')
  await cluster.waitForEnd(SESSION, 'r')
  await cluster.clock.until(first.runtime.close())
  return { cluster, process, apiProcess, effects }
}

/** Answers the interrupts of a run and returns its result. */
async function finished({ cluster, apiProcess }: Awaited<ReturnType<typeof much>>, runId: string) {
  await cluster.waitForEntry(SESSION, ({ chunk, origin }) => chunk.type === 'run-paused' && origin.runId === runId)
  const id = `${runId}::1.node.1/useInterrupt:well.1`
  await cluster.clock.until(apiProcess.runtime.answer(SESSION, { kind: 'interrupt', id, response: 'yes' }))
  await cluster.waitForEntry(SESSION, isEndOf(runId))
  const log = await cluster.entries(SESSION)
  expect(reportsOf(log)).toEqual([])
  return { view: await cluster.view(SESSION), log }
}

test('copies a large resume point in several commits and recovers from a crash between them', async () => {
  const COUNT = 150
  const harness = await much(COUNT)
  const { cluster, process, apiProcess, effects } = harness
  await apiProcess.runtime.resume(SESSION, 'r', { runId: 'r2' })
  for (let kills = 0; kills < 3; kills++) {
    const dying = process()
    let appends = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    dying.connection.after = ({ method }) => {
      if (method !== 'append' || ++appends < 3) return
      dying.kill()
      resolve()
    }
    await cluster.clock.until(promise)
  }
  process()
  const { view, log } = await finished(harness, 'r2')
  expect(view.output).toEqual([COUNT, 1, 'yes'])
  expect(effects).toHaveLength(COUNT)
  expect(view.structured.map(({ data }) => data)).toEqual([{ items: ['once'] }])
  const commits = ofRun(log, 'r2').filter(({ chunk }) => chunk.type === 'checkpoint-created')
  expect(commits.length).toBeGreaterThan(3)
})

test('resumes a run that stopped before it had copied its resume point', async () => {
  const harness = await much(150)
  const { cluster, process, apiProcess, effects } = harness
  await apiProcess.runtime.resume(SESSION, 'r', { runId: 'r2' })
  const dying = process()
  const isHalf = ({ chunk, origin }: Entry) => chunk.type === 'checkpoint-created' && origin.runId === 'r2'
  dying.connection.after = async ({ method }) => {
    if (method === 'append' && (await cluster.entries(SESSION)).some(isHalf)) dying.kill()
  }
  await cluster.waitForEntry(SESSION, isHalf)
  await apiProcess.runtime.stop(SESSION, 'r2')
  process()
  expect(await cluster.waitForEnd(SESSION, 'r2')).toBe('interrupted')
  expect(
    (await cluster.entries(SESSION)).some(({ chunk, origin }) => chunk.type === 'status' && origin.runId === 'r2'),
  ).toBe(false)
  await apiProcess.runtime.resume(SESSION, 'r2', { runId: 'r3' })
  const { view } = await finished(harness, 'r3')
  expect(view.output).toEqual([150, 1, 'yes'])
  expect(effects).toHaveLength(150)
})

test('rejects the resumption of a trimmed run', async () => {
  const testRun = await WorkflowTestRun.start(
    single(async () => ({ data: await useInterrupt(textInterrupt('Well?')) })),
  )
  await testRun.result()
  await testRun.runtime.stop(SESSION, 'r')
  await testRun.result()
  const { manager } = testRun.runtime
  await manager.snapshot(SESSION)
  await manager.trimStream(SESSION, { maxEntries: 1 })
  expect(await codeOf(testRun.runtime.resume(SESSION, 'r'))).toBe('run_not_resumable')
})
