// Workflows as tools of an agent or of a model in a workflow: they run for the call in the same run.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { call, callsIn, scripted, startRun, subAgentCall, validLog, writerEntries } from '../../api/pendings.fixture.ts'
import { agent } from '../../define/agent.ts'
import type { NodeContext } from '../../define/node.ts'
import { subAgent } from '../../define/sub-agent.ts'
import { type Workflow, workflow } from '../../define/workflow.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { chunksOf, recordingModel } from '../agent/run-to-end.fixture.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useNodeState, useWorkflowState } from '../hooks/use-state.ts'
import { caller, echoWorkflow } from './tool.fixture.ts'
import { sequence, single, WorkflowTestRun } from './workflow-test-run.fixture.ts'

const trip = workflow({
  id: 'trip',
  inputSchema: z.object({ city: z.string(), days: z.string().transform(Number) }),
  nodes: {
    plan: ({ input }: NodeContext<{ city: string; days: number }>) => ({
      data: { city: input.city, nights: input.days - 1 },
      ui: { message: `To ${input.city}` },
    }),
    book: ({ input }: NodeContext<{ city: string; nights: number }>) => ({ data: { ...input, isBooked: true } }),
  },
  edges: [
    ['start', 'plan'],
    ['plan', 'book'],
    ['book', 'end'],
  ],
})

describe('a workflow as a tool', () => {
  test('is presented to the model with its name and the schema of its input, or a prompt', async () => {
    const { model, modelCalls } = recordingModel([{ text: 'Done.' }])
    const other = subAgent(trip, {
      name: 'weekend',
      description: 'Two days in a city',
      inputSchema: z.object({ city: z.string() }),
      prompt: ({ city }) => ({ city, days: '2' }),
    })
    const { run } = await startRun(agent({ name: 'parent', model, subAgents: [trip, echoWorkflow, other] }))
    await run.result()
    expect(modelCalls[0]?.tools).toMatchObject([
      { type: 'function', name: 'trip', inputSchema: { properties: { city: {}, days: { type: 'string' } } } },
      { type: 'function', name: 'parrot', inputSchema: { required: ['prompt'] } },
      { type: 'function', name: 'weekend', description: 'Two days in a city', inputSchema: { required: ['city'] } },
    ])
  })

  test("runs in the same run with its own id, lane, message and steps, and its output is the call's output", async () => {
    const testAgent = scripted(
      'parent',
      [
        {
          calls: [
            call('trip', 'c1', { city: 'Ulm', days: '3' }),
            call('weekend', 'c2', { city: 'Bonn' }),
            subAgentCall('parrot', 'c3', 'Hello'),
          ],
        },
        { text: 'Done.' },
      ],
      {
        subAgents: [
          trip as Workflow,
          echoWorkflow,
          subAgent(trip, {
            name: 'weekend',
            inputSchema: z.object({ city: z.string() }),
            prompt: ({ city }) => ({ city, days: '2' }),
          }),
        ],
      },
    ).agent
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.', output: undefined })
    const log = await validLog(runtime)
    expect(chunksOf(log, 'subagent-start')).toEqual([
      { type: 'subagent-start', agentId: 'trip:c1', agentType: 'trip', toolCallId: 'c1', lane: 'main/c1' },
      { type: 'subagent-start', agentId: 'trip:c2', agentType: 'trip', toolCallId: 'c2', lane: 'main/c2' },
      { type: 'subagent-start', agentId: 'parrot:c3', agentType: 'parrot', toolCallId: 'c3', lane: 'main/c3' },
    ])
    const { c1, c2, c3 } = await callsIn(runtime)
    expect([c1?.output, c2?.output, c3?.output]).toEqual([
      { city: 'Ulm', nights: 2, isBooked: true },
      { city: 'Bonn', nights: 1, isBooked: true },
      'Hello!',
    ])
    expect(chunksOf(log, 'subagent-end')).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ agentId: 'trip:c1', status: 'completed', result: c1?.output }),
        expect.objectContaining({ agentId: 'parrot:c3', status: 'completed', result: 'Hello!' }),
      ]),
    )
    const { view } = await runtime.view('s')
    expect(view.messages.filter(({ agentId }) => agentId === 'trip:c1')).toMatchObject([
      { parent: { toolCallId: 'c1' }, parts: [{ type: 'text', text: 'To Ulm' }] },
    ])
    const steps = writerEntries(log).filter(
      ({ chunk, origin }) => chunk.type === 'status' && origin.agentId === 'trip:c1',
    )
    expect(steps.map(({ origin }) => [origin.lane, origin.node, origin.step])).toEqual([
      ['main/c1', 'plan', 1],
      ['main/c1', 'book', 2],
    ])
    // It writes no session chunk, and its output is not the run's.
    expect(chunksOf(log, 'session')).toEqual([])
    expect(chunksOf(log, 'output')).toEqual([])
  })

  test('returns its text, or null, if its last node has no data', async () => {
    const secret = () => ({ data: 'secret' })
    const says = sequence(
      { secret, first: () => ({ ui: { message: 'One. ' } }), last: () => ({ ui: { message: 'Two.' } }) },
      { id: 'says' },
    )
    const silent = sequence({ secret, last: () => {} }, { id: 'silent' })
    const calls = [subAgentCall('says', 'c1', 'Go.'), subAgentCall('silent', 'c2', 'Go.')]
    const { runtime, run } = await startRun(caller(says, calls, { subAgents: [says, silent] }))
    await run.result()
    const { c1, c2 } = await callsIn(runtime)
    expect([c1?.output, c2?.output]).toEqual(['One. Two.', null])
  })

  test('has its own state, separate from other calls and from its caller', async () => {
    const counter = single(
      () => {
        const [count, setCount] = useWorkflowState('count', 0)
        const [nodeCount, setOwn] = useNodeState(0)
        setCount(count + 1)
        setOwn(nodeCount + 1)
        return { data: { count, own: nodeCount } }
      },
      { id: 'counter' },
    )
    const model = scriptedModel([
      { calls: [subAgentCall('counter', 'k1'), subAgentCall('counter', 'k2')] as never },
      { text: 'Done.' },
    ])
    const testRun = await WorkflowTestRun.start(
      sequence({
        first: async () => {
          const [, setCount] = useWorkflowState('count', 0)
          setCount(7)
          const { toolResults } = await useReason({ model, input: 'Count', subAgents: [counter] })
          return { data: toolResults.map(({ output = null }) => output) }
        },
        last: ({ input }: NodeContext<unknown>) => {
          const [count] = useWorkflowState('count', 0)
          return { data: { count, input } }
        },
      }),
    )
    expect(await testRun.result()).toMatchObject({
      status: 'completed',
      output: {
        count: 7,
        input: [
          { count: 0, own: 0 },
          { count: 0, own: 0 },
        ],
      },
    })
    await testRun.log()
  })

  test('reports a failure as the outcome of the call, and the agent continues', async () => {
    const broken = single(
      () => {
        throw new Error('secret')
      },
      { id: 'broken' },
    )
    const { runtime, run, logged } = await startRun(caller(broken, [subAgentCall('broken', 'c1')]))
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' })
    const { c1 } = await callsIn(runtime)
    expect(c1).toMatchObject({ state: 'output-error', errorText: 'broken failed: node node failed' })
    const log = await validLog(runtime)
    expect(chunksOf(log, 'tool-output-error')).toMatchObject([{ code: 'subagent_failed' }])
    expect(chunksOf(log, 'subagent-end')).toMatchObject([{ status: 'failed', reason: 'node node failed' }])
    expect(JSON.stringify(log)).not.toContain('secret')
    expect(logged.some(({ message }) => message === 'a sub-agent failed')).toBe(true)
  })

  test('rejects an invalid input before it starts, also if only the workflow validates it', async () => {
    const loose = subAgent(trip, { name: 'loose', inputSchema: z.object({ city: z.string() }) })
    const testAgent = scripted(
      'parent',
      [{ calls: [call('trip', 'c1', { city: 1 }), call('loose', 'c2', { city: 'Ulm' })] }, { text: 'Done.' }],
      { subAgents: [trip as Workflow, loose] },
    ).agent
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const { c1, c2 } = await callsIn(runtime)
    expect([c1?.state, c2?.state]).toEqual(['output-error', 'output-error'])
    expect(c2?.errorText).toContain('days')
    const log = await validLog(runtime)
    expect(chunksOf(log, 'subagent-start').map(({ toolCallId }) => toolCallId)).toEqual(['c2'])
  })

  test('has its own limits of steps, tokens and time, and those of its callers', async () => {
    const loop = workflow({
      id: 'loop',
      maxSteps: 3,
      nodes: { again: () => ({ condition: 'more' }) },
      edges: [
        ['start', 'again'],
        ['again', 'again', { when: 'more', max: 100 }],
        ['again', 'end', { otherwise: true }],
      ],
    })
    const greedy = workflow({
      id: 'greedy',
      budget: { tokens: 20 },
      nodes: {
        asks: async () => {
          for (let n = 0; n < 9; n++) {
            await useReason({
              model: scriptedModel([{ text: 'x', usage: { input: 5, output: 5 } }]),
              input: 'x',
            })
          }
        },
      },
      edges: [
        ['start', 'asks'],
        ['asks', 'end'],
      ],
    })
    const testAgent = caller(loop as Workflow, [subAgentCall('loop', 'c1'), subAgentCall('greedy', 'c2')], {
      subAgents: [loop, greedy],
    })
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const { c1, c2 } = await callsIn(runtime)
    expect(c1?.errorText).toContain('3')
    expect(c2?.errorText).toMatch(/workflow greedy has used 20 tokens/)
  })

  test('throws when it is defined if it cannot be presented to a model', () => {
    const odd = { '~standard': { version: 1, vendor: 'own', validate: (value: unknown) => ({ value }) } } as const
    const testWorkflow = single(() => {}, { id: 'own', inputSchema: odd })
    expect(() => subAgent(testWorkflow)).toThrow(/tool own: inputSchema/)
    expect(subAgent(testWorkflow, { jsonSchema: { type: 'object' } }).jsonSchema).toEqual({ type: 'object' })
    expect(() => subAgent(single(() => {}, { id: 'a.b' }))).toThrow(/name/)
    expect(() => agent({ name: 'a', model: scriptedModel([]), subAgents: [{} as never] })).toThrow(
      /subAgents\.0: expected the result of agent\(\), workflow\(\) or subAgent\(\)/,
    )
  })
})
