// Execution of sub-agents: in parallel, with failures, retries, limits and stops.

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
import { codeOf, gate, until } from '../../api/test-runtime.fixture.ts'
import { type Agent, agent } from '../../define/agent.ts'
import { tool } from '../../define/tool.ts'
import { expectOneEnd, VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { ProviderError } from '../../error/error.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { chunksOf, reportsOf } from '../agent/run-to-end.fixture.ts'

const overloaded = () => new ProviderError('provider_overloaded', 'too much', { retryable: true })

/** A parent that calls all children at once and then ends. */
const parentOf = (children: ReturnType<typeof scripted>['agent'][], more: object = {}) =>
  scripted('parent', [{ calls: children.map(({ name }, n) => subAgentCall(name, `c${n}`)) }, { text: 'Done.' }], {
    subAgents: children,
    ...more,
  })

const endsOf = async (runtime: Parameters<typeof validLog>[0]) =>
  Object.fromEntries(
    chunksOf(await validLog(runtime), 'subagent-end').map(({ agentType, status, reason }) => [
      agentType,
      reason ?? status,
    ]),
  )

describe('parallel children', () => {
  test('run as many at a time as parallelCalls allows', async () => {
    let active = 0
    let max = 0
    const all = gate()
    const meet = tool({
      name: 'meet',
      inputSchema: z.object({}),
      async execute() {
        max = Math.max(max, ++active)
        if (active === 3) all.open()
        await all.opened
        return 'met'
      },
    })
    const children = [0, 1, 2].map(
      n => scripted(`child${n}`, [{ calls: [call('meet', `k${n}`)] }, { text: 'ok' }], { tools: [meet] }).agent,
    )
    const { run } = await startRun(parentOf(children).agent)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(max).toBe(3)
  })

  test('continue when they are answered while others wait, and the parent after all', async () => {
    const { ran, tool: pay } = counted('pay', true)
    const payers = [0, 1].map(
      n =>
        scripted(`payer${n}`, [{ calls: [call('pay', `k${n}`, { n })] }, { text: `payer ${n}` }], { tools: [pay] })
          .agent,
    )
    const { agent: testAgent, prompts } = parentOf(payers)
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    await approve(runtime, 'k1')
    const paused = await run.result()
    expect(paused).toMatchObject({ status: 'paused', suspended: { children: [{ agentId: 'payer0:c0' }] } })
    expect(ran).toEqual([1])
    expect(await endsOf(runtime)).toEqual({ payer1: 'completed' })
    await approve(runtime, 'k0')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(prompts[1]).toContain('payer 0')
    expect(prompts[1]).toContain('payer 1')
  })

  test('may have an id that equals the run id', async () => {
    const { ran, tool: pay } = counted('pay', true)
    const child = scripted('child', [{ calls: [call('pay', 'k1', { n: 1 })] }, { text: 'ok' }], { tools: [pay] })
    const { agent: testAgent } = parentOf([child.agent])
    const { runtime, run } = await startRun(testAgent, {}, { runId: 'child:c0' })
    expect(await run.result()).toMatchObject({ suspended: { children: [{ agentId: '+child:c0' }] } })
    await runtime.answer('s', { kind: 'approval', id: 'child:c0::k1', approved: true })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(ran).toEqual([1])
    expect(await endsOf(runtime)).toEqual({ child: 'completed' })
  })

  test('continue when another fails, which is reported to the parent', async () => {
    const broken = scripted('broken', [{ text: 'I will', error: new Error('sk-secret') }], { maxRetries: 0 })
    const fine = scripted('fine', [{ calls: [call('pay', 'k1', { n: 1 })] }, { text: 'fine' }], {
      tools: [counted('pay', true).tool],
    })
    const { agent: testAgent, prompts } = parentOf([broken.agent, fine.agent])
    const { runtime, run, logged } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'paused', suspended: { children: [{ agentId: 'fine:c1' }] } })
    expect(await callsIn(runtime)).toMatchObject({ c0: { state: 'output-error', code: 'subagent_failed' } })
    await approve(runtime, 'k1')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(prompts[1]).toContain('broken failed')
    const log = await validLog(runtime)
    expect(chunksOf(log, 'subagent-end').map(({ agentType, status }) => [agentType, status])).toEqual([
      ['broken', 'failed'],
      ['fine', 'completed'],
    ])
    expect(JSON.stringify(log)).not.toContain('sk-secret')
    expect(logged.map(({ message }) => message)).toContain('a sub-agent failed')
  })

  test('are not discarded when another is retried', async () => {
    let attempts = 0
    const held = gate()
    const shaky = agent({
      name: 'shaky',
      model: scriptedModel(async () => {
        attempts++
        if (attempts === 1) return { text: 'wrong words', error: overloaded() }
        await held.opened
        return { text: 'right words' }
      }),
    })
    const steady = scripted('steady', [{ text: 'a b', calls: [call('count', 'k1', { n: 1 })] }, { text: 'steady' }], {
      tools: [counted('count').tool],
    })
    const { agent: testAgent, prompts } = parentOf([shaky, steady.agent])
    const { runtime, run } = await startRun(testAgent)
    for await (const { chunk } of run.stream()) {
      if (chunk.type === 'subagent-end') held.open()
    }
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const log = writerEntries(await validLog(runtime))
    const discards = log.filter(({ chunk }) => chunk.type === 'step-discarded')
    expect(discards.map(({ origin }) => [origin.agentId, origin.lane])).toEqual([['shaky:c0', 'main/c0']])
    expect(steady.prompts).toHaveLength(2)
    expect(prompts[1]).toContain('right words')
    expect(prompts[1]).not.toContain('wrong words')
  })

  test('have separate calls, even under equal provider ids', async () => {
    const { ran, tool: pay } = counted('pay', true)
    const children = [0, 1, 2].map(
      n =>
        scripted(`child${n}`, [{ calls: [call('pay', 'call_1', { n })] }, { text: `ok ${n}` }], { tools: [pay] }).agent,
    )
    const { agent: testAgent } = parentOf(children)
    const { runtime, run } = await startRun(testAgent)
    const { pendings } = await run.result()
    expect(pendings).toHaveLength(3)
    expect(new Set(pendings.map(({ id }) => id)).size).toBe(3)
    for (const { id } of pendings) await runtime.answer('s', { kind: 'approval', id, approved: true })
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    expect(result.status).toBe('completed')
    expect(ran.sort()).toEqual([0, 1, 2])
    await validLog(runtime)
  })
})

test('supports long provider ids in all derived names', async () => {
  const long = (name: string) => name.repeat(250)
  const { ran, tool: pay } = counted('pay', true)
  let testAgent: Agent | undefined
  for (const [n, name] of ['d', 'c', 'b', 'a', 'parent'].entries()) {
    const first = testAgent ? subAgentCall(testAgent.name, long(testAgent.name)) : call('pay', long('x'), { n: 1 })
    testAgent = scripted(name, [{ calls: [first] }, { text: `done ${n}` }], {
      tools: [pay],
      subAgents: testAgent ? [testAgent] : [],
    }).agent
  }
  const runId = 'r'.repeat(256)
  const { runtime, run } = await startRun(testAgent as Agent, {}, { runId })
  const [waiting, ...more] = (await run.result()).pendings
  expect(more).toEqual([])
  await runtime.answer('s', { kind: 'approval', id: waiting?.id ?? '', approved: true })
  expect(await run.result()).toMatchObject({ status: 'completed', text: 'done 4' })
  expect(ran).toEqual([1])
  await validLog(runtime)
  const longer = runtime.start({ agent: testAgent as Agent, session: 's', runId: `${runId}r` })
  expect(await codeOf(longer)).toBe('validation_failed')
})

describe('limits', () => {
  test('each child has its own limits of steps and tokens', async () => {
    const { tool: count } = counted('count')
    const looping = (name: string, more: object) =>
      agent({
        name,
        tools: [count],
        model: scriptedModel(({ turnAnswers }) => ({
          calls: [call('count', `${name}${turnAnswers}`, { n: turnAnswers })],
          usage: { input: 60, output: 40 },
        })),
        ...more,
      })
    const { agent: testAgent } = parentOf([
      looping('steps', { maxSteps: 2 }),
      looping('tokens', { budget: { tokens: 250 } }),
    ])
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(await endsOf(runtime)).toEqual({
      steps: expect.stringContaining('2 steps'),
      tokens: expect.stringContaining('tokens'),
    })
    expect(await callsIn(runtime)).toMatchObject({ c0: { code: 'subagent_failed' }, c1: { code: 'subagent_failed' } })
  })

  test('the limits of the run include the usage of children', async () => {
    const thirsty = agent({
      name: 'thirsty',
      tools: [counted('count').tool],
      model: scriptedModel(({ turnAnswers }) => ({
        calls: [call('count', `k${turnAnswers}`, { n: 1 })],
        usage: { input: 400, output: 100 },
      })),
    })
    const { agent: testAgent } = parentOf([thirsty], { budget: { tokens: 1200 } })
    const { runtime, run } = await startRun(testAgent)
    const result = await run.result()
    expect(result.status).toBe('failed')
    expect(result.error).toMatchObject({ code: 'budget_tokens' })
    await validLog(runtime)
  })

  test('a child that exceeds its time fails with its sub-agents, and the run continues', async () => {
    const cluster = new VirtualCluster()
    const { tool: pay } = counted('pay', true)
    const hangs = tool({ name: 'hangs', inputSchema: z.object({}), execute: () => new Promise<never>(() => {}) })
    const grandchild = scripted('grandchild', [{ calls: [call('pay', 'g1', { n: 1 })] }, { text: 'ok' }], {
      tools: [pay],
    })
    const child = scripted(
      'child',
      [{ calls: [subAgentCall('grandchild', 'k1'), call('hangs', 'k2')] }, { text: 'ok' }],
      {
        tools: [hangs],
        subAgents: [grandchild.agent],
        budget: { timeMs: 5000 },
      },
    )
    const { agent: testAgent, prompts } = parentOf([child.agent])
    const { runtime } = cluster.process(() => [testAgent])
    await runtime.start({ session: 's', runId: 'r', agent: testAgent, input: 'Go.' })
    await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'tool-approval-request')
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    await expectOneEnd(cluster, 's', 'r')
    const log = await cluster.entries('s')
    expect(reportsOf(log)).toEqual([])
    const ends = chunksOf(log, 'subagent-end').map(({ agentId, status }) => [agentId, status])
    expect(ends).toEqual([
      ['grandchild:k1', 'interrupted'],
      ['child:c0', 'failed'],
    ])
    expect(prompts[1]).toContain('longer than 5000 ms')
    expect(await codeOf(runtime.answer('s', { kind: 'approval', id: 'r::g1', approved: true }))).toBe(
      'answer_already_settled',
    )
  })

  test('the time of a child excludes waiting for answers', async () => {
    const cluster = new VirtualCluster()
    const { tool: pay } = counted('pay', true)
    const child = scripted('child', [{ calls: [call('pay', 'k1', { n: 1 })] }, { text: 'paid' }], {
      tools: [pay],
      budget: { timeMs: 5000 },
    })
    const { agent: testAgent, prompts } = parentOf([child.agent])
    const { runtime } = cluster.process(() => [testAgent])
    await runtime.start({ session: 's', runId: 'r', agent: testAgent, input: 'Go.' })
    await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'run-paused')
    await cluster.clock.advance(3_600_000)
    await runtime.answer('s', { kind: 'approval', id: 'r::k1', approved: true })
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(prompts[1]).toContain('paid')
  })
})

describe('the end of the parent', () => {
  test('ends running and waiting children by a stop, deepest first, and settles their calls', async () => {
    const begun = gate()
    const aborted: string[] = []
    const hangs = tool({
      name: 'hangs',
      inputSchema: z.object({}),
      execute: (_, { abortSignal, toolCallId }) => {
        abortSignal.addEventListener('abort', () => aborted.push(toolCallId))
        begun.open()
        return new Promise<never>(() => {})
      },
    })
    const deep = scripted('deep', [{ calls: [call('hangs', 'k2')] }], { tools: [hangs] })
    const worker = scripted('worker', [{ calls: [subAgentCall('deep', 'k1')] }], { subAgents: [deep.agent] })
    const waiter = scripted('waiter', [{ calls: [call('pay', 'k3', { n: 1 })] }], {
      tools: [counted('pay', true).tool],
    })
    const { runtime, run } = await startRun(parentOf([worker.agent, waiter.agent]).agent)
    await until(run, 'tool-approval-request')
    await begun.opened
    await run.stop()
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    const log = await validLog(runtime)
    expect(Object.fromEntries(chunksOf(log, 'subagent-end').map(({ agentId, status }) => [agentId, status]))).toEqual({
      'deep:k1': 'interrupted',
      'worker:c0': 'interrupted',
      'waiter:c1': 'interrupted',
    })
    const ends = chunksOf(log, 'subagent-end').map(({ agentId }) => agentId)
    expect(ends.indexOf('deep:k1')).toBeLessThan(ends.indexOf('worker:c0'))
    const origins = writerEntries(log).flatMap(({ chunk, origin }) =>
      chunk.type === 'subagent-end' ? [[chunk.agentId, origin.agentId, origin.agentType, origin.lane]] : [],
    )
    expect(origins).toContainEqual(['deep:k1', 'worker:c0', 'worker', 'main/c0/k1'])
    expect(origins).toContainEqual(['worker:c0', 'r', 'parent', 'main/c0'])
    expect(aborted).toEqual(['k2'])
    for (const part of Object.values(await callsIn(runtime))) {
      expect(part).toMatchObject({ state: 'output-error', code: 'interrupted' })
    }
    expect(await codeOf(approve(runtime, 'k3'))).toBe('answer_already_settled')
  })

  test('ends its children as interrupted if the parent failed', async () => {
    const slow = agent({
      name: 'slow',
      model: scriptedModel([{ calls: [call('pay', 'k1', { n: 1 })] }]),
      tools: [counted('pay', true).tool],
    })
    let calls = 0
    const testAgent = agent({
      name: 'parent',
      subAgents: [slow],
      tools: () => {
        // The second drive cannot compute the tools.
        if (++calls > 1) throw new Error('no tools today')
        return []
      },
      model: scriptedModel([{ calls: [subAgentCall('slow', 'c0')] }, { text: 'Done.' }]),
    })
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'paused' })
    await approve(runtime, 'k1')
    expect(await run.result()).toMatchObject({ status: 'failed', error: { code: 'agent_failed' } })
    expect(await endsOf(runtime)).toEqual({ slow: 'interrupted' })
  })

  test('ends children for good if the parent was stopped: a resumed run does not continue them', async () => {
    const { ran, tool: pay } = counted('pay', true)
    const payer = scripted('payer', [{ calls: [call('pay', 'k1', { n: 1 })] }, { text: 'paid' }], { tools: [pay] })
    const { agent: testAgent, prompts } = parentOf([payer.agent])
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    await run.stop()
    await run.result()
    const again = await runtime.resume('s', 'r', { runId: 'r2' })
    expect(await again.result()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(prompts.at(-1)).toContain('The run ended before this call did.')
    expect(ran).toEqual([])
    await validLog(runtime)
  })

  test('closes the step of each child once, also if a client settles its last call', async () => {
    const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
    const child = scripted('child', [{ calls: [call('locate', 'k1'), call('locate', 'k2')] }, { text: 'there' }], {
      tools: [locate],
    })
    const { runtime, run } = await startRun(parentOf([child.agent]).agent)
    await run.result()
    for (const id of ['k2', 'k1']) await runtime.answer('s', { kind: 'tool-result', id, output: id })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(closedIn(await validLog(runtime))).toEqual(['r/main/c0/1', 'r/main/c0/2', 'r/main/1', 'r/main/2'])
  })
})
