// State, context and session that a sub-agent shares with its parent.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  approve,
  call,
  closedIn,
  counted,
  scripted,
  sendResult,
  startRun,
  subAgentCall,
  validLog,
} from '../../api/pendings.fixture.ts'
import { agent } from '../../define/agent.ts'
import { type ToolContext, tool } from '../../define/tool.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { chunksOf } from '../agent/run-to-end.fixture.ts'

describe('a sub-agent shares with its parent', () => {
  test("the session's state, with patches in order", async () => {
    const add = tool({
      name: 'add',
      inputSchema: z.object({ who: z.string() }),
      execute({ who }, { updateState, state }) {
        updateState(now => ({ ...(now as object), seen: [...(now as { seen: string[] }).seen, who] }))
        return state
      },
    })
    const worker = (name: string) =>
      scripted(
        name,
        [{ calls: [1, 2, 3].map(n => call('add', `${name}${n}`, { who: `${name}${n}` })) }, { text: 'ok' }],
        {
          tools: [add],
        },
      ).agent
    const scriptedAgent = scripted(
      'parent',
      [
        { calls: [subAgentCall('a', 'c1'), subAgentCall('b', 'c2'), call('add', 'c3', { who: 'parent' })] },
        { text: 'Done.' },
      ],
      { tools: [add], subAgents: [worker('a'), worker('b')], initialState: { seen: [] } },
    )
    const { runtime, run } = await startRun(scriptedAgent.agent)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const { view } = await runtime.view('s')
    expect([...(view.state as { seen: string[] }).seen].sort()).toEqual(['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'parent'])
    expect(chunksOf(await validLog(runtime), 'state-patch')).toHaveLength(7)
  })

  test('its initial state, if the session has none', async () => {
    const child = (n: number) => scripted(`child${n}`, [{ text: 'ok' }], { initialState: { n } }).agent
    const scriptedAgent = scripted(
      'parent',
      [{ calls: [subAgentCall('child1', 'c1')] }, { calls: [subAgentCall('child2', 'c2')] }, { text: 'Done.' }],
      {
        subAgents: [child(1), child(2)],
      },
    )
    const { runtime, run } = await startRun(scriptedAgent.agent)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(chunksOf(await validLog(runtime), 'state-snapshot')).toEqual([{ type: 'state-snapshot', state: { n: 1 } }])
    expect((await runtime.view('s')).view.state).toEqual({ n: 1 })
  })

  test('context and data, but not idempotency keys', async () => {
    const seen: Partial<ToolContext>[] = []
    const look = tool({
      name: 'look',
      inputSchema: z.object({}),
      execute(_, { sessionId, runId, agentId, agentType, step, toolCallId, idempotencyKey, context }) {
        seen.push({ sessionId, runId, agentId, agentType, step, toolCallId, idempotencyKey, context })
        return 'seen'
      },
    })
    const keys: string[] = []
    const child = agent({
      name: 'child',
      tools: [look],
      instructions: ({ context, data, agentId, agentType, step }) =>
        JSON.stringify({ context, data, agentId, agentType, step }),
      model: scriptedModel(({ key, turnAnswers, options }) => {
        keys.push(key, JSON.stringify(options.prompt[0]?.content))
        // Providers number their calls, so each agent has the same ids.
        return turnAnswers === 0 ? { calls: [call('look', 'call_1')] } : { text: 'ok' }
      }),
    })
    const scriptedAgent = scripted(
      'parent',
      [
        { calls: [subAgentCall('child', 'c1'), subAgentCall('child', 'c2'), call('look', 'call_1')] },
        { text: 'Done.' },
      ],
      {
        tools: [look],
        subAgents: [child],
      },
    )
    const { runtime, run } = await startRun(scriptedAgent.agent, {}, { context: { tenant: 1 }, data: { page: 2 } })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(seen).toHaveLength(3)
    expect(seen.map(({ agentId, agentType }) => `${agentType} ${agentId}`).sort()).toEqual([
      'child child:c1',
      'child child:c2',
      'parent r',
    ])
    expect(new Set(seen.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3)
    expect(new Set(seen.map(({ toolCallId }) => toolCallId)).size).toBe(3)
    for (const { context, runId, sessionId, step } of seen)
      expect({ context, runId, sessionId, step }).toEqual({
        context: { tenant: 1 },
        runId: 'r',
        sessionId: 's',
        step: 1,
      })
    const calls = keys.filter(key => key.startsWith('s/'))
    expect(calls.sort()).toEqual(['s/r/child%3Ac1/1', 's/r/child%3Ac1/2', 's/r/child%3Ac2/1', 's/r/child%3Ac2/2'])
    expect(keys.join()).toContain(
      JSON.stringify(
        JSON.stringify({ context: { tenant: 1 }, data: { page: 2 }, agentId: 'child:c1', agentType: 'child', step: 1 }),
      ).slice(1, -1),
    )
    // Readers do not see the context, although a child had it.
    const shown = (await validLog(runtime)).filter(({ internal }) => !internal)
    expect(JSON.stringify(shown)).not.toContain('tenant')
  })

  test('the session for approvals and client tools, three levels deep', async () => {
    const { ran, tool: pay } = counted('pay', true)
    const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
    const third = scripted(
      'third',
      [{ calls: [call('pay', 'k3', { n: 3 }), call('locate', 'l3')] }, { text: 'third' }],
      {
        tools: [pay, locate],
      },
    )
    const second = scripted('second', [{ calls: [subAgentCall('third', 'k2')] }, { text: 'second' }], {
      subAgents: [third.agent],
    })
    const first = scripted('first', [{ calls: [subAgentCall('second', 'k1')] }, { text: 'first' }], {
      subAgents: [second.agent],
    })
    const scriptedAgent = scripted('parent', [{ calls: [subAgentCall('first', 'k0')] }, { text: 'Done.' }], {
      subAgents: [first.agent],
    })
    const { runtime, run } = await startRun(scriptedAgent.agent)
    expect(await run.result()).toMatchObject({
      status: 'paused',
      suspended: {
        kind: 'suspended_awaiting_children',
        children: [
          { agentId: 'first:k0', agentType: 'first', toolCallId: 'k0', pendings: [{ id: 'r::k3' }, { id: 'l3' }] },
        ],
      },
    })
    expect((await runtime.view('s')).view.pendings).toMatchObject([
      { kind: 'approval', id: 'r::k3', messageId: 'r::third:k2' },
      { kind: 'client-tool', id: 'l3', messageId: 'r::third:k2' },
    ])
    const [paused] = chunksOf(await validLog(runtime), 'run-paused')
    expect(paused?.awaits.filter(({ kind }) => kind === 'children')).toEqual([
      { kind: 'children', id: 'second:k1', agentIds: ['third:k2'] },
      { kind: 'children', id: 'first:k0', agentIds: ['second:k1'] },
      { kind: 'children', id: 'r', agentIds: ['first:k0'] },
    ])
    await approve(runtime, 'k3')
    await sendResult(runtime, 'l3')
    let result = await run.result()
    while (result.status === 'paused') result = await run.result()
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(ran).toEqual([3])
    expect(closedIn(await validLog(runtime))).toEqual([
      'r/main/k0/k1/k2/1',
      'r/main/k0/k1/k2/2',
      'r/main/k0/k1/1',
      'r/main/k0/k1/2',
      'r/main/k0/1',
      'r/main/k0/2',
      'r/main/1',
      'r/main/2',
    ])
  })
})
