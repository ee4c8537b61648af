// Sub-agents that an old version of a program started, under a new version.

import { Memory, memoryStore } from '@millrace/log'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  approve,
  call,
  callsIn,
  counted,
  scripted,
  sendResult,
  startRun,
  subAgentCall,
  validLog,
} from '../../api/pendings.fixture.ts'
import { codeOf, testRuntime } from '../../api/test-runtime.fixture.ts'
import type { Agent } from '../../define/agent.ts'
import { subAgent } from '../../define/sub-agent.ts'
import { tool } from '../../define/tool.ts'
import { chunksOf } from './run-to-end.fixture.ts'

const endsOf = async (runtime: Parameters<typeof validLog>[0]) =>
  Object.fromEntries(
    chunksOf(await validLog(runtime), 'subagent-end').map(({ agentType, status, reason }) => [
      agentType,
      reason ?? status,
    ]),
  )

test.each([
  ['was removed', []],
  ['was replaced', [scripted('other', [{ text: 'other' }]).agent]],
] as const)('ends a child with its pendings if its parent’s tool %s', async (_, others) => {
  const { ran, tool: pay } = counted('pay', true)
  const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
  const child = scripted('child', [{ calls: [call('pay', 'k1', { n: 1 })] }, { text: 'ok' }], { tools: [pay] })
  const answers = [{ calls: [subAgentCall('helper', 'c1'), call('locate', 'c2')] }, { text: 'Done.' }]
  const named = (agent: Agent) => subAgent(agent, { name: 'helper' })
  const agentWith = (children: readonly Agent[]) =>
    scripted('parent', answers, { subAgents: children.map(named), tools: [locate] }).agent
  const memory = new Memory()
  const { runtime, run } = await startRun(agentWith([child.agent]), { store: memoryStore(undefined, memory) })
  await run.result()
  await runtime.close()
  const nextRuntime = testRuntime({ agents: [agentWith(others)], store: memoryStore(undefined, memory) })
  await sendResult(nextRuntime, 'c2')
  expect(await nextRuntime.run('s', 'r').result()).toMatchObject({ status: 'completed', pendings: [] })
  expect(await endsOf(nextRuntime)).toMatchObject({ child: 'interrupted' })
  expect(await callsIn(nextRuntime)).toMatchObject({
    c1: others.length > 0 ? { output: 'other' } : { state: 'output-error' },
  })
  expect(await codeOf(approve(nextRuntime, 'k1'))).toBe('answer_already_settled')
  expect(ran).toEqual([])
})

test.each([true, false])(
  'pauses a child whose call needs approval in the new version, until the answer (approved: %s)',
  async isApproved => {
    const { ran, tool: pay } = counted('pay', true)
    const child = scripted('child', [{ calls: [call('pay', 'k1', { n: 1 })] }, { text: 'ok' }], { tools: [pay] })
    const agentWith = (approval: boolean) =>
      scripted('parent', [{ calls: [subAgentCall('child', 'c1')] }, { text: 'Done.' }], {
        subAgents: [subAgent(child.agent, { approval })],
      }).agent
    const memory = new Memory()
    const { runtime, run } = await startRun(agentWith(false), { store: memoryStore(undefined, memory) })
    await run.result()
    await runtime.close()
    const nextRuntime = testRuntime({ agents: [agentWith(true)], store: memoryStore(undefined, memory) })
    await approve(nextRuntime, 'k1')
    expect((await nextRuntime.run('s', 'r').result()).pendings.map(({ id }) => id)).toEqual(['r::c1'])
    expect(ran).toEqual([])
    await approve(nextRuntime, 'c1', isApproved)
    expect(await nextRuntime.run('s', 'r').result()).toMatchObject({ status: 'completed' })
    expect(await endsOf(nextRuntime)).toEqual({ child: isApproved ? 'completed' : 'interrupted' })
    expect(ran).toEqual(isApproved ? [1] : [])
  },
)
