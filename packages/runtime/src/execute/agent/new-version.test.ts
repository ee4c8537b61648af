// What a new version of a program does with sub-agents that the old version started.

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
import { chunksOf } from './play.fixture.ts'

const endsOf = async (runtime: Parameters<typeof validLog>[0]) =>
  Object.fromEntries(
    chunksOf(await validLog(runtime), 'subagent-end').map(({ agentType, status, reason }) => [
      agentType,
      reason ?? status,
    ]),
  )

test.each([
  ['is not there any more', []],
  ['is another by now', [scripted('other', [{ text: 'other' }]).agent]],
] as const)('a child whose parent’s tool %s is ended, with all that it waits for', async (_, others) => {
  const { ran, tool: pay } = counted('pay', true)
  const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
  const child = scripted('child', [{ calls: [call('pay', 'k1', { n: 1 })] }, { text: 'ok' }], { tools: [pay] })
  const answers = [{ calls: [subAgentCall('helper', 'c1'), call('locate', 'c2')] }, { text: 'Done.' }]
  const named = (agent: Agent) => subAgent(agent, { name: 'helper' })
  const own = (children: readonly Agent[]) =>
    scripted('parent', answers, { subAgents: children.map(named), tools: [locate] }).agent
  const memory = new Memory()
  const { runtime, run } = await startRun(own([child.agent]), { store: memoryStore(undefined, memory) })
  await run.result()
  await runtime.close()
  const heir = testRuntime({ agents: [own(others)], store: memoryStore(undefined, memory) })
  await sendResult(heir, 'c2')
  expect(await heir.run('s', 'r').result()).toMatchObject({ status: 'completed', pendings: [] })
  expect(await endsOf(heir)).toMatchObject({ child: 'interrupted' })
  expect(await callsIn(heir)).toMatchObject({
    c1: others.length > 0 ? { output: 'other' } : { state: 'output-error' },
  })
  expect(await codeOf(approve(heir, 'k1'))).toBe('answer_already_settled')
  expect(ran).toEqual([])
})

test.each([true, false])('a child whose call needs approval in the new version waits for it: %s', async isApproved => {
  const { ran, tool: pay } = counted('pay', true)
  const child = scripted('child', [{ calls: [call('pay', 'k1', { n: 1 })] }, { text: 'ok' }], { tools: [pay] })
  const own = (approval: boolean) =>
    scripted('parent', [{ calls: [subAgentCall('child', 'c1')] }, { text: 'Done.' }], {
      subAgents: [subAgent(child.agent, { approval })],
    }).agent
  const memory = new Memory()
  const { runtime, run } = await startRun(own(false), { store: memoryStore(undefined, memory) })
  await run.result()
  await runtime.close()
  const heir = testRuntime({ agents: [own(true)], store: memoryStore(undefined, memory) })
  await approve(heir, 'k1')
  expect((await heir.run('s', 'r').result()).pendings.map(({ id }) => id)).toEqual(['r::c1'])
  expect(ran).toEqual([])
  await approve(heir, 'c1', isApproved)
  expect(await heir.run('s', 'r').result()).toMatchObject({ status: 'completed' })
  expect(await endsOf(heir)).toEqual({ child: isApproved ? 'completed' : 'interrupted' })
  expect(ran).toEqual(isApproved ? [1] : [])
})
