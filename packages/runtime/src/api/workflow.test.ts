// Runs of workflows from the outside: start, wait, answer and observe.

import { memoryStore } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../define/agent.ts'
import type { NodeContext } from '../define/node.ts'
import { tool } from '../define/tool.ts'
import { workflow } from '../define/workflow.ts'
import { RecordingObserver } from '../drive/observer.fixture.ts'
import { useInterrupt } from '../execute/hooks/use-interrupt.ts'
import { useReason } from '../execute/hooks/use-reason.ts'
import { useWorkflowState } from '../execute/hooks/use-state.ts'
import {
  publicOf,
  sequence,
  single,
  textInterrupt,
  WorkflowTestRun,
} from '../execute/workflow/workflow-test-run.fixture.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { approve, call, counted, scripted, sendResult, subAgentCall, validLog } from './pendings.fixture.ts'
import type { Runtime } from './runtime.ts'
import type { PauseReason } from './suspension.ts'
import { codeOf, echo, testRuntime, typesOf } from './test-runtime.fixture.ts'

const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
const question = (id: string) => useInterrupt(textInterrupt(`${id}?`, { id }))

/** A model that makes calls before it answers. */
const reason = (id: string, ...calls: ReturnType<typeof call>[]) =>
  useReason({
    id,
    model: scriptedModel([{ calls }, { text: `${id} is done. ` }]),
    input: 'Go.',
    tools: [counted('pay', true).tool, counted('free').tool, locate],
  })

/** The pause reason of a run with one node that does these things in parallel. */
async function suspended(...things: (() => Promise<unknown>)[]): Promise<PauseReason | undefined> {
  const play = await WorkflowTestRun.start(
    single({ run: async () => void (await Promise.all(things.map(thing => thing()))) }),
  )
  const { status, suspended: why, pendings } = await play.result()
  expect(status).toBe('paused')
  expect(pendings).toEqual((await play.view()).pendings)
  await play.log()
  return why
}

const interrupts = (...ids: string[]) => ids.map(id => `r::1.node.1/useInterrupt:${id}.1`)

describe('the pause reason of a workflow', () => {
  test('names the interrupts if only they wait', async () => {
    expect(
      await suspended(
        () => question('a'),
        () => question('b'),
      ),
    ).toEqual({ kind: 'suspended_interrupt', interruptIds: interrupts('a', 'b') })
  })

  test('names the waiting calls of all models, whichever model started last', async () => {
    expect(
      await suspended(
        () => reason('a', call('pay', 'p1', { n: 1 })),
        () => reason('b', call('free', 'f1', { n: 1 }), call('locate', 'l1')),
      ),
    ).toEqual({ kind: 'suspended_client_tool', toolCallIds: expect.toSatisfy(ids => ids.sort().join() === 'l1,p1') })
  })

  test('is suspended_mixed, with the calls and interrupts, if both wait', async () => {
    expect(
      await suspended(
        () => reason('a', call('pay', 'p1', { n: 1 })),
        () => question('b'),
        // A finished call is not a reason.
        () => reason('c', call('free', 'f1', { n: 1 })),
      ),
    ).toEqual({ kind: 'suspended_mixed', toolCallIds: ['p1'], interruptIds: interrupts('b'), children: [] })
  })

  test('names the waiting sub-agents of an agent node', async () => {
    const child = scripted('child', [{ calls: [call('pay', 'c1', { n: 2 })] }, { text: 'ok' }], {
      tools: [counted('pay', true).tool],
    })
    const parent = scripted('parent', [{ calls: [subAgentCall('child', 'k1')] }, { text: 'Done.' }], {
      subAgents: [child.agent],
    })
    const play = await WorkflowTestRun.start(single({ agent: parent.agent } as never))
    expect((await play.result()).suspended).toMatchObject({
      kind: 'suspended_awaiting_children',
      children: [{ agentType: 'child', toolCallId: 'k1', pendings: [{ kind: 'approval', id: 'r::c1' }] }],
    })
    await approve(play.runtime, 'c1')
    expect(await play.result()).toMatchObject({ status: 'completed', output: 'Done.' })
    await play.log()
  })

  test('changes with each answer, and with the node that waits', async () => {
    const play = await WorkflowTestRun.start(
      sequence({
        one: async () => void (await Promise.all([reason('a', call('pay', 'p1', { n: 1 })), question('q')])),
        two: async () => ({ data: (await reason('b', call('locate', 'l1'))).text }),
      }),
    )
    expect((await play.result()).suspended?.kind).toBe('suspended_mixed')
    await play.answer('1.one.1/useInterrupt:q.1', 'x')
    expect((await play.result()).suspended).toEqual({ kind: 'suspended_client_tool', toolCallIds: ['p1'] })
    await play.restart()
    await approve(play.runtime, 'p1')
    // The approved call is in the same message and does not wait.
    expect((await play.result()).suspended).toEqual({ kind: 'suspended_client_tool', toolCallIds: ['l1'] })
    await sendResult(play.runtime, 'l1')
    const done = await play.result()
    expect([done.status, done.suspended, done.pendings, done.text]).toEqual([
      'completed',
      undefined,
      [],
      'a is done. b is done. ',
    ])
    await play.log()
  })
})

describe('the output of a workflow', () => {
  const count = workflow({
    id: 'count',
    nodes: {
      ask: async ({ input }: NodeContext<string>) => {
        const finish = tool({ name: 'finish', inputSchema: z.object({}), finish: true, execute: () => 'of the tool' })
        const { toolResults } = await useReason({
          model: scriptedModel([{ calls: [{ name: 'finish', input: {} }] }]),
          input,
          tools: [finish],
        })
        return { data: { tool: toolResults[0]?.output ?? null, words: input.split(' ').length } }
      },
      tell: async ({ input }: NodeContext<{ tool: unknown; words: number }>) => ({ data: { words: input.words } }),
    },
    edges: [
      ['start', 'ask'],
      ['ask', 'tell'],
      ['tell', 'end'],
    ],
  })

  test('is the data of its last node, logged once with the end', async () => {
    const runtime = testRuntime({ workflows: [count] })
    const run = await runtime.start({ workflow: count, input: 'one two three', session: 's' })
    const { status, output } = await run.result()
    expectTypeOf(output).toEqualTypeOf<{ words: number } | undefined>()
    expect([status, output]).toEqual(['completed', { words: 3 }])
    const types: string[] = []
    for await (const { chunk } of run.stream()) types.push(chunk.type)
    expect(types.filter(type => type === 'output')).toHaveLength(1)
    expect(types.slice(-4)).toEqual(['output', 'checkpoint-created', 'finish', 'run-finished'])
    expect((await runtime.view('s')).view.output).toEqual({ words: 3 })
  })

  test('is available to other processes, and for the latest run also after trimming', async () => {
    const runtime = testRuntime({ agents: [echo], workflows: [count] })
    const run = await runtime.start({ workflow: count, input: 'one two', session: 's' })
    const before = await run.result()
    expect(await runtime.run('s', run.runId).result()).toEqual(before)
    await runtime.manager.trimStream('s', { maxEntries: 0 })
    expect(await runtime.run('s', run.runId).result()).toEqual(before)
    await (await runtime.start({ agent: echo, input: 'hi', session: 's' })).result()
    await runtime.manager.trimStream('s', { maxEntries: 0 })
    expect(await runtime.run('s', run.runId).result()).toMatchObject({ status: 'completed', output: undefined })
  })

  test('is absent if the run failed or was stopped', async () => {
    const failing = await WorkflowTestRun.start(
      sequence({ one: () => ({ data: 1 }), two: () => Promise.reject(new Error('no')) }),
    )
    expect(await failing.result()).toMatchObject({
      status: 'failed',
      output: undefined,
      error: { code: 'workflow_node_failed' },
    })
    const waiting = await WorkflowTestRun.start(single({ run: async () => ({ data: await question('a') }) }))
    await waiting.result()
    await waiting.run.stop()
    expect(await waiting.result()).toMatchObject({ status: 'interrupted', output: undefined, pendings: [] })
    await waiting.log()
  })
})

test('pauses a workflow that an agent calls like a sub-agent', async () => {
  const testWorkflow = single(async () => ({ data: await question('a') }))
  const model = scriptedModel([{ calls: [subAgentCall('own', 'k1')] }, { text: 'Done.' }])
  const parent = agent({ name: 'parent', model, subAgents: [testWorkflow] })
  const runtime = testRuntime({ agents: [parent], workflows: [testWorkflow] })
  const run = await runtime.start({ agent: parent, input: 'go', session: 's', runId: 'r' })
  const { suspended: why, pendings } = await run.result()
  expect(why).toMatchObject({
    kind: 'suspended_awaiting_children',
    children: [{ agentType: 'own', toolCallId: 'k1', pendings: [{ kind: 'interrupt' }] }],
  })
  await runtime.answer('s', { kind: 'interrupt', id: pendings[0]?.id ?? '', response: 'x' })
  expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' })
})

test('validates a form response in a process without the workflow', async () => {
  const responseSchema = z.object({ tone: z.string().regex(/^[a-z]+-[a-z]+$/), lines: z.number().int().max(9) })
  const testWorkflow = single(async () => ({
    data: await useInterrupt({ request: { kind: 'form' }, responseSchema, id: 'f' }),
  }))
  const store = memoryStore()
  const play = await WorkflowTestRun.start(testWorkflow, { open: () => store })
  await play.result()
  const front = testRuntime({ store, engine: false })
  const id = 'r::1.node.1/useInterrupt:f.1'
  const answer = (response: Json) => front.answer('s', { kind: 'interrupt', id, response })
  for (const wrong of ['x', {}, { tone: 'dry', lines: 1 }, { tone: 'very-dry', lines: 10 }, { tone: 'very-dry' }]) {
    expect(await codeOf(answer(wrong as Json))).toBe('answer_invalid')
  }
  await answer({ tone: 'very-dry', lines: 3 })
  expect(await play.result()).toMatchObject({ output: { tone: 'very-dry', lines: 3 } })
})

test('validates client results for agent nodes and their sub-agents', async () => {
  const where = tool({ name: 'where', inputSchema: z.object({}), client: true, outputSchema: z.string() })
  const child = scripted('child', [{ calls: [call('where', 'w2')] }, { text: 'ok' }], { tools: [where] })
  const parent = scripted(
    'parent',
    [{ calls: [call('where', 'w1'), subAgentCall('child', 'k1')] }, { text: 'Done.' }],
    {
      tools: [where],
      subAgents: [child.agent],
    },
  )
  const anything = tool({ name: 'where', inputSchema: z.object({}), client: true })
  const model = scriptedModel([{ calls: [call('where', 'w3')] }, { text: 'ok' }])
  const play = await WorkflowTestRun.start(
    sequence({
      parent: { agent: parent.agent } as never,
      code: async () => void (await useReason({ id: 'agent', model, input: 'Go.', tools: [anything] })),
    }),
  )
  await play.result()
  for (const id of ['w1', 'w2']) {
    expect(await codeOf(sendResult(play.runtime, id, 7))).toBe('answer_invalid')
    await sendResult(play.runtime, id, 'Ulm')
  }
  expect((await play.result()).pendings.map(({ id }) => id)).toEqual(['w3'])
  await sendResult(play.runtime, 'w3', 7)
  expect(await play.result()).toMatchObject({ status: 'completed' })
})

test('rejects a form that cannot be answered', async () => {
  const schema = { allOf: [{ $ref: '#' }] }
  const play = await WorkflowTestRun.start(
    single(async () => void (await useInterrupt({ request: { kind: 'form', schema } }))),
  )
  expect(await play.result()).toMatchObject({ status: 'failed', error: { code: 'validation_failed' } })
  expect(typesOf(await play.log())).not.toContain('interrupt')
})

describe('the state of a workflow run', () => {
  test('is reported to observers: pendings and end', async () => {
    const observer = new RecordingObserver()
    const testWorkflow = single(
      async () => void (await Promise.all([question('a'), reason('b', call('pay', 'p1', { n: 1 }))])),
    )
    const play = await WorkflowTestRun.start(testWorkflow, { options: { observers: [observer] } })
    await play.result()
    await approve(play.runtime, 'p1')
    await play.result()
    await play.answer('1.node.1/useInterrupt:a.1', 'x')
    await play.result()
    await play.runtime.close()
    const [both, one] = observer.paused
    expect(both).toMatchObject({
      status: 'paused',
      runId: 'r',
      program: 'workflow:own@1',
      awaits: expect.arrayContaining([
        { kind: 'interrupt', id: 'r::1.node.1/useInterrupt:a.1' },
        expect.objectContaining({ kind: 'approval', id: 'r::p1', toolCallId: 'p1', toolName: 'pay' }),
      ]),
    })
    expect(both?.awaits).toHaveLength(2)
    expect(one?.awaits).toEqual([{ kind: 'interrupt', id: 'r::1.node.1/useInterrupt:a.1' }])
    expect(observer.finished).toMatchObject([{ status: 'completed', program: 'workflow:own@1' }])
  })

  test('is visible by node status, ticket and session status, without private data', async () => {
    const testWorkflow = sequence({
      secret: () => ({ data: { password: 'hush' } }),
      wait: { title: 'Waiting for Ann', run: async () => void (await question('a')) },
    })
    const play = await WorkflowTestRun.start(testWorkflow)
    await play.result()
    const { view, ticket } = await play.runtime.view('s')
    expect(view.runs).toMatchObject([{ status: 'paused', note: 'Waiting for Ann', program: 'workflow:own@1' }])
    expect(ticket.run).toMatchObject({ runId: 'r', program: 'workflow:own@1', paused: true })
    expect(ticket.pendings).toMatchObject([{ kind: 'interrupt', id: 'r::1.wait.1/useInterrupt:a.1', agentId: 'r' }])
    expect(await play.runtime.status('s')).toEqual({ status: 'paused' })
    const shown = JSON.stringify([view, publicOf(await play.log())])
    expect(shown).not.toContain('hush')
    const streamed: string[] = []
    for await (const { chunk } of play.run.stream()) streamed.push(JSON.stringify(chunk))
    expect(streamed.join()).not.toContain('hush')
    await play.answer('1.wait.1/useInterrupt:a.1', 'x')
    await play.result()
    expect(await play.runtime.status('s')).toEqual({ status: 'idle' })
  })
})

describe('a turn of a workflow', () => {
  const greet = () =>
    sequence({
      ask: async ({ input }) => {
        const [count, setCount] = useWorkflowState<number>('count', 0)
        const data = `${await question('tone')} ${input} ${count}`
        setCount(count + 1)
        return { data }
      },
      tell: ({ input }) => ({ data: input, ui: { message: `${input}` } }),
    })
  const tone = '1.ask.1/useInterrupt:tone.1'
  const respond = (runtime: Runtime, runId: string, response: string) =>
    runtime.answer('s', { kind: 'interrupt', id: `${runId}::${tone}`, response })

  test('is repeated from its start with fresh state, and its interrupt is settled', async () => {
    const play = await WorkflowTestRun.start(greet())
    await play.result()
    // The waiting run is stopped.
    const again = await play.runtime.retry('s', 'r', { runId: 'again' })
    await again.result()
    expect(await codeOf(respond(play.runtime, 'r', 'late'))).toBe('answer_already_settled')
    await respond(play.runtime, 'again', 'dry')
    expect(await again.result()).toMatchObject({ status: 'completed', output: 'dry Go. 0' })
    const edited = await play.runtime.edit('s', (await play.view()).messages[0]?.id ?? '', 'Come.', { runId: 'edited' })
    await edited.result()
    await respond(play.runtime, 'edited', 'warm')
    expect(await edited.result()).toMatchObject({ status: 'completed', output: 'warm Come. 0' })
    const { messages, output } = await play.view()
    expect([messages.length, output]).toEqual([2, 'warm Come. 0'])
    await play.log()
  })

  test('is ended in a fork, and can be restarted there', async () => {
    const play = await WorkflowTestRun.start(greet())
    await play.result()
    await play.runtime.fork('s', { session: 'fork' })
    const { view } = await play.runtime.view('fork')
    expect([view.pendings, view.runs.map(({ status }) => status)]).toEqual([[], ['interrupted']])
    await respond(play.runtime, 'r', 'dry')
    expect(await play.result()).toMatchObject({ status: 'completed', output: 'dry Go. 0' })
    const other = await play.runtime.start({ workflow: 'own', input: 'Hi.', session: 'fork', runId: 'r2' })
    const id = `r2::${tone}`
    expect((await other.result()).pendings.map(pending => pending.id)).toEqual([id])
    await play.runtime.answer('fork', { kind: 'interrupt', id, response: 'wet' })
    expect(await other.result()).toMatchObject({ status: 'completed', output: 'wet Hi. 0' })
    await validLog(play.runtime, 'fork')
  })

  test('continues with a confirmation of its approvals, but not of its interrupts', async () => {
    const things = () => Promise.all([question('a'), reason('b', call('pay', 'p1', { n: 1 }))])
    const play = await WorkflowTestRun.start(single(async () => ({ data: (await things())[0] })))
    await play.result()
    await play.runtime.resume('s', 'r', { mode: 'with-confirmation', approved: true })
    expect((await play.result()).suspended).toEqual({ kind: 'suspended_interrupt', interruptIds: interrupts('a') })
    await play.answer('1.node.1/useInterrupt:a.1', 'x')
    expect(await play.result()).toMatchObject({ status: 'completed', output: 'x' })
  })
})
