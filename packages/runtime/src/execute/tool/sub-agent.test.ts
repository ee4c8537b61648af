// Sub-agents: how the model sees them, their input, and the origin of their entries.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  approve,
  call,
  callsIn,
  closedIn,
  counted,
  scripted,
  startRun,
  subAgentCall,
  validLog,
  writerEntries,
} from '../../api/pendings.fixture.ts'
import { agent } from '../../define/agent.ts'
import { subAgent } from '../../define/sub-agent.ts'
import { tool } from '../../define/tool.ts'
import { chunksOf, recordingModel } from '../agent/run-to-end.fixture.ts'

describe('a sub-agent', () => {
  test('is a tool of its parent with a name, a description and a schema', async () => {
    const { agent: child } = scripted('child', [{ text: 'ok' }])
    const input = z.object({ topic: z.string() })
    const expert = subAgent(child, { name: 'expert', description: 'Knows it all', title: 'Expert', inputSchema: input })
    const { model, modelCalls } = recordingModel([{ text: 'Done.' }])
    const { run } = await startRun(agent({ name: 'parent', model, subAgents: [child, expert] }))
    await run.result()
    expect(modelCalls[0]?.tools).toMatchObject([
      {
        type: 'function',
        name: 'child',
        inputSchema: { type: 'object', required: ['prompt'], properties: { prompt: {} } },
      },
      { type: 'function', name: 'expert', description: 'Knows it all', inputSchema: { properties: { topic: {} } } },
    ])
  })

  test('can be used twice under two names, with different inputs', async () => {
    const { agent: child, prompts } = scripted('child', [{ text: 'ok' }])
    const expert = subAgent(child, {
      name: 'expert',
      inputSchema: z.object({ topic: z.string(), depth: z.string().transform(Number) }),
      prompt: ({ topic, depth }) => `Tell of ${topic}, ${depth + 1} deep.`,
    })
    const plain = subAgent(child, { name: 'plain', inputSchema: z.object({ topic: z.string() }) })
    const { agent: testAgent } = scripted(
      'parent',
      [
        {
          calls: [
            subAgentCall('child', 'c1', 'As it is.'),
            call('expert', 'c2', { topic: 'mills', depth: '1' }),
            call('plain', 'c3', { topic: 'mills' }),
          ],
        },
        { text: 'Done.' },
      ],
      { subAgents: [child, expert, plain] },
    )
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(prompts.flatMap(prompt => JSON.parse(prompt))).toMatchObject(
      ['As it is.', 'Tell of mills, 2 deep.', '{"topic":"mills"}'].map(text => ({
        role: 'user',
        content: [{ type: 'text', text }],
      })),
    )
    const log = await validLog(runtime)
    expect(chunksOf(log, 'subagent-start')).toEqual(
      ['c1', 'c2', 'c3'].map(toolCallId => ({
        type: 'subagent-start',
        agentId: `child:${toolCallId}`,
        agentType: 'child',
        toolCallId,
        lane: `main/${toolCallId}`,
      })),
    )
    expect(chunksOf(log, 'subagent-end')).toHaveLength(3)
  })

  test('writes with its own id, type, lane and step, and the name of its model', async () => {
    const { tool: count } = counted('count')
    const { agent: grandchild } = scripted('grandchild', [{ text: 'deep' }])
    const { agent: child } = scripted(
      'child',
      [
        { reasoning: 'Hm', text: 'I', calls: [call('count', 'k1', { n: 1 }), subAgentCall('grandchild', 'k2')] },
        { text: 'ok' },
      ],
      { tools: [count], subAgents: [grandchild] },
    )
    const { agent: testAgent } = scripted('parent', [{ calls: [subAgentCall('child', 'c1')] }, { text: 'Done.' }], {
      subAgents: [child],
    })
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' })
    const log = writerEntries(await validLog(runtime))
    const lanes = new Map<string, Set<string>>()
    for (const { origin, chunk } of log) {
      const agentName = `${origin.agentId} ${origin.agentType}`
      if (chunk.type !== 'run-started' && chunk.type !== 'run-finished') {
        lanes.set(agentName, (lanes.get(agentName) ?? new Set()).add(origin.lane))
      }
    }
    expect(Object.fromEntries([...lanes].map(([agentName, laneNames]) => [agentName, [...laneNames].sort()]))).toEqual({
      'r parent': ['main', 'main/c1'],
      'child:c1 child': ['main/c1', 'main/c1/k1', 'main/c1/k2'],
      'grandchild:k2 grandchild': ['main/c1/k2'],
    })
    const words = log.filter(({ chunk }) => /^(text|reasoning|step|tool-input)-/.test(chunk.type))
    for (const { origin, chunk } of words) {
      expect([chunk.type, origin.model]).toEqual([chunk.type, 'millrace:scripted'])
      expect(origin.step).toBeGreaterThan(0)
    }
    // Each agent counts its own steps, and its checkpoints are named after its lane.
    expect(closedIn(log)).toEqual(['r/main/c1/k2/1', 'r/main/c1/1', 'r/main/c1/2', 'r/main/1', 'r/main/2'])
    // Starts and ends are written by the parents, on the lanes of the calls.
    const borders = log.filter(({ chunk }) => chunk.type.startsWith('subagent-'))
    expect(
      borders.map(({ origin, chunk }) => [chunk.type, origin.agentId, origin.agentType, origin.lane, origin.step]),
    ).toEqual([
      ['subagent-start', 'r', 'parent', 'main/c1', 1],
      ['subagent-start', 'child:c1', 'child', 'main/c1/k2', 1],
      ['subagent-end', 'child:c1', 'child', 'main/c1/k2', 1],
      ['subagent-end', 'r', 'parent', 'main/c1', 1],
    ])
    const { view } = await runtime.view('s')
    expect(view.messages.map(({ id, agentType, status, parent }) => ({ id, agentType, status, parent }))).toEqual([
      { id: expect.any(String), agentType: undefined, status: 'sent', parent: undefined },
      { id: 'r::r', agentType: 'parent', status: 'sent', parent: undefined },
      { id: 'r::child:c1', agentType: 'child', status: 'sent', parent: { messageId: 'r::r', toolCallId: 'c1' } },
      {
        id: 'r::grandchild:k2',
        agentType: 'grandchild',
        status: 'sent',
        parent: { messageId: 'r::child:c1', toolCallId: 'k2' },
      },
    ])
  })

  test('has its own conversation: the parent gets only its result, also in later turns', async () => {
    const talker = scripted(
      'child',
      [{ text: 'thinking aloud', calls: [call('count', 'k1', { n: 1 })] }, { text: 'the result' }],
      { tools: [counted('count').tool] },
    )
    const scriptedAgent = scripted(
      'parent',
      [{ calls: [subAgentCall('child', 'c1', 'the task')] }, { text: 'Done.' }],
      {
        subAgents: [talker.agent],
      },
    )
    const { runtime, run } = await startRun(scriptedAgent.agent)
    await run.result()
    expect(talker.prompts.join()).not.toContain('Go.')
    expect(talker.prompts[1]).toContain('thinking aloud')
    expect(scriptedAgent.prompts[1]).toContain('the result')
    expect(scriptedAgent.prompts[1]).not.toContain('thinking aloud')
    const again = await runtime.start({ agent: scriptedAgent.agent, input: 'Again.', session: 's', runId: 'r2' })
    expect(await again.result()).toMatchObject({ status: 'completed' })
    expect(scriptedAgent.prompts[2]).toContain('the result')
    expect(scriptedAgent.prompts.slice(2).join()).not.toContain('thinking aloud')
    // A child of a later turn does not know the earlier one.
    expect(talker.prompts[2]).not.toContain('the result')
    await validLog(runtime)
  })
})

describe('the result of a sub-agent', () => {
  test('is null if its finishing tool returned null', async () => {
    const submit = tool({ name: 'submit', inputSchema: z.object({}), finish: true, execute: () => null })
    const child = scripted('child', [{ text: 'words', calls: [call('submit', 'k1')] }], { tools: [submit] })
    const { agent: testAgent } = scripted('parent', [{ calls: [subAgentCall('child', 'c1')] }, { text: 'Done.' }], {
      subAgents: [child.agent],
    })
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(await callsIn(runtime)).toMatchObject({ c1: { state: 'output-available', output: null } })
    expect(chunksOf(await validLog(runtime), 'subagent-end')).toMatchObject([{ status: 'completed', result: null }])
  })

  test("is its text, its output, or the output of its finishing tool; the run's output is the parent's", async () => {
    const submit = tool({ name: 'submit', inputSchema: z.object({}), finish: true, execute: () => ({ score: 7 }) })
    const speaker = scripted(
      'speaker',
      [{ text: 'Well. ', calls: [call('note', 'k1', { n: 1 })] }, { text: 'Only this.' }],
      {
        tools: [counted('note').tool],
      },
    )
    const planner = scripted('planner', [{ text: '{"stops":["a"]}' }], {
      outputSchema: z.object({ stops: z.array(z.string()) }),
    })
    const finisher = scripted('finisher', [{ calls: [call('submit', 'k2')] }], { tools: [submit] })
    const scriptedAgent = scripted(
      'parent',
      [
        { calls: [subAgentCall('speaker', 'c1'), subAgentCall('planner', 'c2'), subAgentCall('finisher', 'c3')] },
        { text: '{"all":3}' },
      ],
      { subAgents: [speaker.agent, planner.agent, finisher.agent], outputSchema: z.object({ all: z.number() }) },
    )
    const { runtime, run } = await startRun(scriptedAgent.agent)
    expect(await run.result()).toMatchObject({ status: 'completed', output: { all: 3 } })
    expect(await callsIn(runtime)).toMatchObject({
      c1: { output: 'Only this.' },
      c2: { output: { stops: ['a'] } },
      c3: { output: { score: 7 } },
      k2: { output: { score: 7 } },
    })
    const log = await validLog(runtime)
    expect(chunksOf(log, 'output')).toEqual([{ type: 'output', output: { all: 3 } }])
    const results = chunksOf(log, 'subagent-end').map(({ agentType, status, result }) => [agentType, status, result])
    expect(results.sort()).toEqual([
      ['finisher', 'completed', { score: 7 }],
      ['planner', 'completed', { stops: ['a'] }],
      ['speaker', 'completed', 'Only this.'],
    ])
    expect((await runtime.view('s')).view.structured.map(({ streamId }) => streamId).sort()).toEqual([
      'output:planner:c2',
      'output:r',
    ])
  })

  test('is in the log once if it is large, with the call', async () => {
    const child = scripted('child', [{ text: `big ${'x'.repeat(100_000)}` }])
    const scriptedAgent = scripted('parent', [{ calls: [subAgentCall('child', 'c1')] }, { text: 'Done.' }], {
      subAgents: [child.agent],
    })
    const { runtime, run } = await startRun(scriptedAgent.agent)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const [end] = chunksOf(await validLog(runtime), 'subagent-end')
    expect(end).toMatchObject({ status: 'completed' })
    expect(end?.result).toBeUndefined()
    expect(scriptedAgent.prompts[1]?.length).toBeGreaterThan(100_000)
  })
})

test('starts a sub-agent only after approval, and not after a denial', async () => {
  const { agent: child, prompts } = scripted('child', [{ text: 'child done' }])
  const sub = subAgent(child, {
    inputSchema: z.object({ topic: z.string() }),
    approval: ({ topic }) => topic !== 'weather',
  })
  const { agent: testAgent } = scripted(
    'parent',
    [{ calls: ['weather', 'money', 'war'].map((topic, n) => call('child', `c${n}`, { topic })) }, { text: 'Done.' }],
    { subAgents: [sub] },
  )
  const { runtime, run } = await startRun(testAgent)
  expect(await run.result()).toMatchObject({ pendings: [{ id: 'r::c1' }, { id: 'r::c2' }] })
  expect(prompts).toHaveLength(1)
  await approve(runtime, 'c1')
  await approve(runtime, 'c2', false)
  let result = await run.result()
  while (result.status === 'paused') result = await run.result()
  expect(result).toMatchObject({ status: 'completed' })
  const log = await validLog(runtime)
  expect(chunksOf(log, 'subagent-start').map(({ agentId }) => agentId)).toEqual(['child:c0', 'child:c1'])
  expect(await callsIn(runtime)).toMatchObject({ c1: { output: 'child done' }, c2: { state: 'output-denied' } })
})

test('gives each call its own sub-agent, lane and approval, with any call ids', async () => {
  const { ran, tool: pay } = counted('pay', true)
  const ids = ['__proto__', 'constructor', 'a', 'a/b', 'a::b', 'main']
  const child = scripted('child', [{ text: 'ok' }])
  const scriptedAgent = scripted(
    'parent',
    [
      { calls: ids.map(id => subAgentCall('child', id)) },
      { calls: ids.map((id, n) => call('pay', `${id}/b`, { n })) },
      { text: 'Done.' },
    ],
    { tools: [pay], subAgents: [child.agent] },
  )
  const { runtime, run } = await startRun(scriptedAgent.agent)
  const { pendings } = await run.result()
  expect(pendings.map(({ id }) => id)).toEqual(ids.map(id => `r::${id === 'a' ? 'a/b-2' : `${id}/b`}`))
  for (const { id } of pendings) await runtime.answer('s', { kind: 'approval', id, approved: true })
  let result = await run.result()
  while (result.status === 'paused') result = await run.result()
  expect(result.status).toBe('completed')
  expect(ran.sort()).toEqual([0, 1, 2, 3, 4, 5])
  const { view } = await runtime.view('s')
  expect(view.agents.map(({ agentId, status }) => [agentId, status])).toEqual(
    ids.map(id => [`child:${id}`, 'completed']),
  )
  await validLog(runtime)
})

test("corrects an invalid output in the child's own conversation", async () => {
  const { model, modelCalls } = recordingModel(({ options }) => ({
    text: options.prompt.length < 3 ? '{"n":"one"}' : '{"n":1}',
  }))
  const child = agent({ name: 'child', model, outputSchema: z.object({ n: z.number() }) })
  const scriptedAgent = scripted('parent', [{ calls: [subAgentCall('child', 'c1')] }, { text: 'Done.' }], {
    subAgents: [child],
  })
  const { runtime, run } = await startRun(scriptedAgent.agent)
  expect(await run.result()).toMatchObject({ status: 'completed', output: undefined })
  expect(await callsIn(runtime)).toMatchObject({ c1: { output: { n: 1 } } })
  expect(modelCalls).toHaveLength(2)
  expect(scriptedAgent.prompts).toHaveLength(2)
  expect(chunksOf(await validLog(runtime), 'step-discarded')).toMatchObject([{ reason: 'output_invalid' }])
})

test('rejects invalid definitions', () => {
  const { agent: child } = scripted('child', [])
  const named = (name: string) => () => subAgent(child, { name })
  expect(named('no spaces')).toThrow(/tool/)
  expect(() => subAgent(null as never)).toThrow(/expected the result of agent\(\) or workflow\(\)/)
  expect(() => subAgent(child, { prompt: 'x' as never })).toThrow(/prompt: expected a function/)
  expect(() => agent({ name: 'a', model: child.model, subAgents: [child, child] })).toThrow(
    /expected different names, found child twice/,
  )
  const same = tool({ name: 'child', inputSchema: z.object({}), execute: () => 1 })
  expect(() => agent({ name: 'a', model: child.model, tools: [same], subAgents: [child] })).toThrow(
    /expected different names, found child twice/,
  )
  expect(() => agent({ name: 'a', model: child.model, subAgents: [{}] as never })).toThrow(/subAgents.0/)
  expect(() => agent({ name: 'a', model: child.model, subAgents: child as never })).toThrow(
    /subAgents: expected an array/,
  )
})
