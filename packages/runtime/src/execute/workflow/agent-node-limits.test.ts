// Limits of agents as nodes: steps, tokens and time.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { call, counted, scripted } from '../../api/pendings.fixture.ts'
import { gate } from '../../api/test-runtime.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import { tool } from '../../define/tool.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { useReason } from '../hooks/use-reason.ts'
import { sequence, WorkflowTestRun } from './workflow-test-run.fixture.ts'

describe('the limits of an agent as a node', () => {
  const used = (input: number, output: number) => ({ usage: { input, output } })

  test('tokens: counts only its own usage', async () => {
    const { tool: count } = counted('count')
    const testAgent = scripted(
      'own',
      [
        { calls: [call('count', 'k1', { n: 1 })], ...used(10, 5) },
        { calls: [call('count', 'k2', { n: 2 })], ...used(10, 5) },
        { text: 'never', ...used(1, 1) },
      ],
      { tools: [count], budget: { tokens: 30 } },
    ).agent
    const rich = scriptedModel([{ text: 'x', ...used(500, 500) }])
    const testRun = await WorkflowTestRun.start(
      sequence({
        before: async () => ({ data: (await useReason({ model: rich, input: 'x' })).text }),
        own: { agent: testAgent, onError: { route: 'after' } },
        after: ({ input }: NodeContext<unknown>) => ({ data: input as never }),
      }),
    )
    const result = await testRun.result()
    expect(result.output).toMatchObject({
      code: 'budget_tokens',
      message: 'agent own has used 30 tokens, the limit is 30: raise budget.tokens',
    })
    const { runs } = await testRun.view()
    expect(runs[0]?.usage).toMatchObject({ inputTokens: 520, outputTokens: 510 })
  })

  test("tokens: each execution of the node has its own limit, and the run's limit includes all", async () => {
    const { agent: testAgent } = scripted('own', [{ text: 'x', ...used(10, 10) }], { budget: { tokens: 15 } })
    const thrice = sequence({ one: testAgent, two: testAgent, three: testAgent })
    expect(await (await WorkflowTestRun.start(thrice)).result()).toMatchObject({ status: 'completed' })
    const bounded = sequence({ one: testAgent, two: testAgent, three: testAgent }, { budget: { tokens: 35 } })
    const testRun = await WorkflowTestRun.start(bounded)
    expect(await testRun.result()).toMatchObject({ status: 'failed', error: { code: 'budget_tokens' } })
    expect((await testRun.view()).runs[0]?.reason).toBe(
      'the run has used 40 tokens, the limit is 35: raise budget.tokens',
    )
  })

  test('steps: counts only its own model calls', async () => {
    const { tool: count } = counted('count')
    const { agent: before } = scripted('before', [{ calls: [call('count', 'b1', { n: 1 })] }, { text: 'x' }], {
      tools: [count],
    })
    const { agent: testAgent } = scripted(
      'own',
      [{ calls: [call('count', 'k1', { n: 1 })] }, { calls: [call('count', 'k2', { n: 1 })] }],
      {
        tools: [count],
        maxSteps: 2,
      },
    )
    const testRun = await WorkflowTestRun.start(sequence({ before, own: testAgent }))
    expect(await testRun.result()).toMatchObject({ status: 'failed', error: { code: 'budget_steps' } })
    expect((await testRun.view()).runs[0]?.reason).toBe(
      'agent own has taken 2 steps, the limit is 2: raise budget.steps',
    )
  })

  test('time: aborts the agent, and the node fails by its own policy', async () => {
    const held = gate()
    const wait = tool({ name: 'wait', inputSchema: z.object({}), execute: () => held.opened.then(() => 'late') })
    const { agent: testAgent } = scripted('own', [{ calls: [call('wait', 'k1')] }], {
      tools: [wait],
      budget: { timeMs: 30 },
    })
    const testRun = await WorkflowTestRun.start(
      sequence({
        own: { agent: testAgent, onError: { route: 'after' } },
        after: ({ input }: NodeContext<{ code: string }>) => ({ data: input.code }),
      }),
    )
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'budget_time' })
    held.open()
    await testRun.log()
  })
})
