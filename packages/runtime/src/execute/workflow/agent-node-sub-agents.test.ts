// Sub-agents of agent nodes when the node is stopped, fails or is retried.

import { describe, expect, test } from 'vitest'
import { call, counted, scripted, subAgentCall, writerEntries } from '../../api/pendings.fixture.ts'
import { gate, patient } from '../../api/test-runtime.fixture.ts'
import type { Agent } from '../../define/agent.ts'
import type { NodeContext } from '../../define/node.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useStep } from '../hooks/use-step.ts'
import { sequence, single, textInterrupt, WorkflowTestRun } from './workflow-test-run.fixture.ts'

describe('sub-agents of an agent as a node', () => {
  test('end on a stop, on their own lanes', async () => {
    const { tool: careful } = counted('careful', true)
    const { agent: grandchild } = scripted(
      'grandchild',
      [{ calls: [call('careful', 'g1', { n: 1 })] }, { text: 'ok' }],
      { tools: [careful] },
    )
    const { agent: child } = scripted('child', [{ calls: [subAgentCall('grandchild', 'k1')] }, { text: 'ok' }], {
      subAgents: [grandchild],
    })
    const { agent: testAgent } = scripted('own', [{ calls: [subAgentCall('child', 'c1')] }, { text: 'ok' }], {
      subAgents: [child],
    })
    const testRun = await WorkflowTestRun.start(single(testAgent))
    expect(await testRun.result()).toMatchObject({ status: 'paused' })
    await testRun.run.stop()
    expect(await testRun.runtime.run('s', 'r').result()).toMatchObject({ status: 'interrupted' })
    const borders = writerEntries(await testRun.log()).filter(({ chunk }) => chunk.type.startsWith('subagent-'))
    expect(borders.map(({ chunk, origin }) => [chunk.type, origin.agentId, origin.lane])).toEqual([
      ['subagent-start', 'r', 'main/agent:own.1/c1'],
      ['subagent-start', 'child:c1', 'main/agent:own.1/c1/k1'],
      ['subagent-end', 'child:c1', 'main/agent:own.1/c1/k1'],
      ['subagent-end', 'r', 'main/agent:own.1/c1'],
    ])
  })

  test('are ended by a node that continues without them, and nothing stays pending', async () => {
    const { tool: careful, ran } = counted('careful', true)
    const { agent: child } = scripted('child', [{ calls: [call('careful', 'k1', { n: 1 })] }, { text: 'ok' }], {
      tools: [careful],
    })
    const asks = single(async () => ({ data: await useInterrupt(textInterrupt('Well?')) }), { id: 'asks' })
    const model = scriptedModel([
      { calls: [subAgentCall('child', 'c1'), subAgentCall('asks', 'c2'), call('careful', 'c3', { n: 3 })] },
      { text: 'ok' },
    ])
    const questionAsked = gate()
    const testRun = await WorkflowTestRun.start(
      sequence({
        own: {
          run: () =>
            Promise.all([
              useReason({ id: 'asks', model, input: 'x', subAgents: [child, asks], tools: [careful] }),
              useStep('fails', async () => {
                await questionAsked.opened
                throw new Error('no')
              }),
            ]).then(() => ({})),
          onError: { continue: 'without' },
        },
        last: async ({ input }: NodeContext<string>) => ({ data: [input, await useInterrupt(textInterrupt('And?'))] }),
      }),
    )
    const seen = new Set<string>()
    for await (const { chunk } of testRun.run.stream()) {
      if (chunk.type === 'tool-approval-request') seen.add(chunk.toolCallId)
      if (chunk.type === 'interrupt') seen.add(chunk.interruptId)
      if (seen.size === 3) break
    }
    questionAsked.open()
    expect(await testRun.questionIds()).toEqual(['1.last.1/@.1'])
    const { agents } = await testRun.view()
    expect(agents.map(({ agentId, status }) => [agentId, status])).toEqual([
      ['child:c1', 'interrupted'],
      ['asks:c2', 'interrupted'],
    ])
    await testRun.answer('1.last.1/@.1', 'so')
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: ['without', 'so'] })
    expect(ran).toEqual([])
    await testRun.log()
  })

  test('continue when the node is retried, and write nothing twice', async () => {
    const words = gate()
    const child = patient(words) as Agent
    const model = scriptedModel([{ calls: [subAgentCall('patient', 'c1')] }, { text: 'ok' }])
    const hasText = gate()
    let fails = 0
    const testRun = await WorkflowTestRun.start(
      single({
        run: () =>
          Promise.all([
            useReason({ id: 'asks', model, input: 'x', subAgents: [child] }),
            useStep('fails', async () => {
              if (fails++ > 0) return
              await hasText.opened
              throw new Error('no')
            }),
          ]).then(([{ text }]) => ({ data: text })),
        retry: { attempts: 2, backoff: { firstMs: 1 } },
      }),
    )
    for await (const { chunk } of testRun.run.stream()) if (chunk.type === 'text-delta') break
    hasText.open()
    for await (const { chunk } of testRun.run.stream()) if (chunk.type === 'step-discarded') break
    words.open()
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'ok' })
    const { messages, agents } = await testRun.view()
    const childMessage = messages.find(({ agentId }) => agentId === 'patient:c1')
    expect(childMessage?.parts.map(part => ('text' in part ? part.text : part.type))).toEqual(['step-start', 'one two'])
    expect(agents).toMatchObject([{ agentId: 'patient:c1', status: 'completed', result: 'one two' }])
    await testRun.log()
  })
})
