// The time limit of sub-agents: what counts, and what happens when it is over.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { call, callsIn, counted, scripted, startRun, subAgentCall, validLog } from '../../api/pendings.fixture.ts'
import { gate } from '../../api/test-runtime.fixture.ts'
import { agent } from '../../define/agent.ts'
import { subAgent } from '../../define/sub-agent.ts'
import { tool } from '../../define/tool.ts'
import { expectOneEnd, VirtualCluster } from '../../drive/virtual-cluster.fixture.ts'
import { chunksOf, reportsOf } from '../agent/run-to-end.fixture.ts'

const input = z.object({})
const budget = { timeMs: 5000 }
const hour = 3_600_000

/** A tool that runs until it is released, with a counter of its starts. */
function held(name: string) {
  const { opened, open } = gate()
  const began: string[] = []
  const testTool = tool({
    name,
    inputSchema: input,
    async execute(_, { toolCallId }) {
      began.push(toolCallId)
      await opened
      return name
    },
  })
  return { tool: testTool, began, open }
}

const reasons = async (cluster: VirtualCluster) =>
  chunksOf(await cluster.entries('s'), 'subagent-end').map(({ reason }) => reason)

test.each([1, 2])(
  'does not count the time that a child waits for a person while a sibling works, %i levels below',
  async levels => {
    const cluster = new VirtualCluster()
    const { ran, tool: pay } = counted('pay', true)
    const slow = held('slow')
    let child = scripted('payer', [{ calls: [call('pay', 'k1', { n: 1 })] }, { text: 'paid' }], {
      tools: [pay],
      budget,
    })
    if (levels === 2) {
      const { agent: below } = child
      child = scripted('middle', [{ calls: [subAgentCall('payer', 'k0')] }, { text: 'paid' }], {
        subAgents: [below],
        budget,
      })
    }
    const calls = [subAgentCall(child.agent.name, 'c0'), call('slow', 'c1')]
    const scriptedAgent = scripted('parent', [{ calls }, { text: 'Done.' }], {
      subAgents: [child.agent],
      tools: [slow.tool],
    })
    const { runtime } = cluster.process(() => [scriptedAgent.agent])
    await runtime.start({ session: 's', runId: 'r', agent: scriptedAgent.agent, input: 'Go.' })
    await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'tool-approval-request')
    await cluster.clock.advance(hour / 2)
    await runtime.answer('s', { kind: 'approval', id: 'r::k1', approved: true })
    await cluster.waitForEntry(
      's',
      ({ chunk }) => chunk.type === 'subagent-end' && chunk.agentType === child.agent.name,
    )
    slow.open()
    expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
    expect(ran).toEqual([1])
    expect(scriptedAgent.prompts[1]).toContain('paid')
    expect(chunksOf(await cluster.entries('s'), 'run-paused')).toEqual([])
  },
)

test('counts the time in which a child works while another of its calls waits, with any driver', async () => {
  const cluster = new VirtualCluster()
  const { tool: pay } = counted('pay', true)
  const slow = held('slow')
  const child = scripted('child', [{ calls: [call('pay', 'k1', { n: 1 }), call('slow', 'k2')] }], {
    tools: [pay, slow.tool],
    budget,
  })
  const scriptedAgent = scripted('parent', [{ calls: [subAgentCall('child', 'c0')] }, { text: 'Done.' }], {
    subAgents: [child.agent],
  })
  const first = cluster.process(() => [scriptedAgent.agent])
  await first.runtime.start({ session: 's', runId: 'r', agent: scriptedAgent.agent, input: 'Go.' })
  const { timestamp } = await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'tool-approval-request')
  await cluster.clock.advance(3000)
  first.kill()
  cluster.process(() => [scriptedAgent.agent])
  const { timestamp: ended } = await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'subagent-end')
  expect(ended - timestamp).toBeGreaterThanOrEqual(5000)
  expect(ended - timestamp).toBeLessThan(5200)
  expect(await reasons(cluster)).toEqual(['agent child has taken longer than 5000 ms: raise its budget.timeMs'])
  expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
})

test('starts nothing for a child whose time is over', async () => {
  const cluster = new VirtualCluster()
  const slow = held('slow')
  const child = scripted('child', [{ calls: [call('slow', 'k1')] }], { tools: [slow.tool], budget: { timeMs: 400 } })
  const scriptedAgent = scripted('parent', [{ calls: [subAgentCall('child', 'c0')] }, { text: 'Done.' }], {
    subAgents: [child.agent],
  })
  const first = cluster.process(() => [scriptedAgent.agent])
  await first.runtime.start({ session: 's', runId: 'r', agent: scriptedAgent.agent, input: 'Go.' })
  await cluster.waitForEntry('s', ({ chunk }) => chunk.type === 'tool-input-available' && chunk.toolCallId === 'k1')
  first.kill()
  cluster.process(() => [scriptedAgent.agent])
  expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
  expect(slow.began).toEqual(['k1'])
  expect(await reasons(cluster)).toEqual(['agent child has taken longer than 400 ms: raise its budget.timeMs'])
  await expectOneEnd(cluster, 's', 'r')
})

test('fails the child at its time limit for a prompt that never resolves, and the run continues', async () => {
  const cluster = new VirtualCluster()
  const child = scripted('child', [{ text: 'ok' }], { budget })
  const subAgentTool = subAgent(child.agent, { prompt: () => new Promise(() => {}) as never })
  const scriptedAgent = scripted('parent', [{ calls: [subAgentCall('child', 'c0')] }, { text: 'Done.' }], {
    subAgents: [subAgentTool],
  })
  const { runtime } = cluster.process(() => [scriptedAgent.agent])
  await runtime.start({ session: 's', runId: 'r', agent: scriptedAgent.agent, input: 'Go.' })
  expect(await cluster.waitForEnd('s', 'r')).toBe('completed')
  expect(scriptedAgent.prompts[1]).toContain('agent child has taken longer than 5000 ms')
  const log = await cluster.entries('s')
  expect(reportsOf(log)).toEqual([])
  expect(chunksOf(log, 'subagent-start')).toEqual([])
  expect(child.prompts).toEqual([])
})

test.each([
  ['throws', () => Promise.reject(new Error('sk-secret')) as never, 'the agent failed'],
  ['returns a number', () => 7 as never, 'expected a string, found number'],
])('fails the child, not the run, for a prompt that %s', async (_, prompt, reason) => {
  const child = scripted('child', [{ text: 'ok' }])
  const subAgentTool = subAgent(child.agent, { prompt })
  const scriptedAgent = scripted('parent', [{ calls: [subAgentCall('child', 'c0')] }, { text: 'Done.' }], {
    subAgents: [subAgentTool],
  })
  const { runtime, run } = await startRun(scriptedAgent.agent)
  expect(await run.result()).toMatchObject({ status: 'completed' })
  expect((await callsIn(runtime))['c0']).toMatchObject({ code: 'subagent_failed' })
  expect(scriptedAgent.prompts[1]).toContain(reason)
  expect(JSON.stringify(await validLog(runtime))).not.toContain('sk-secret')
})

test("an initial state that exceeds the log's limit fails the child, not the run", async () => {
  const { agent: testAgent, prompts } = scripted(
    'parent',
    [{ calls: [subAgentCall('child', 'c0')] }, { text: 'Done.' }],
    {
      subAgents: [
        agent({
          name: 'child',
          model: scripted('child', [{ text: 'ok' }]).agent.model,
          stateSchema: z.object({ text: z.string() }),
          initialState: { text: 'x'.repeat(10_000) },
        }),
      ],
    },
  )
  const { runtime, run } = await startRun(testAgent, { log: { maxEntryBytes: 4096 } })
  expect(await run.result()).toMatchObject({ status: 'completed' })
  expect(prompts[1]).toContain('the initial state of agent child exceeds the size limit of the log')
  expect(chunksOf(await validLog(runtime), 'subagent-start')).toEqual([])
})
