// Workflows as tools from call to end: long ids, transitions, shutdown and stored records.

import { memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { call, callsIn, scripted, startRun, subAgentCall, validLog } from '../../api/pendings.fixture.ts'
import { gate, testRuntime } from '../../api/test-runtime.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import { tool } from '../../define/tool.ts'
import { chunksOf } from '../agent/run-to-end.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { caller } from './tool.fixture.ts'
import { sequence, single, textInterrupt, wired } from './workflow-test-run.fixture.ts'

describe('a workflow as a tool', () => {
  test('supports long and unusual call ids', async () => {
    const asking = single(async () => ({ data: await useInterrupt(textInterrupt('Well?', { id: 'i'.repeat(64) })) }), {
      id: 'asking',
    })
    const id = ' /:é%'.repeat(50)
    const { runtime, run } = await startRun(caller(asking, [subAgentCall('asking', id)]))
    const { status, pendings } = await run.result()
    expect(status).toBe('paused')
    await runtime.answer('s', { kind: 'interrupt', id: pendings[0]?.id ?? '', response: 'so' })
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed', text: 'Done.' })
    const outputs = Object.values(await callsIn(runtime)).map(({ output }) => output)
    expect(outputs).toEqual(['so'])
  })

  test('may transition to another workflow and ask in several branches', async () => {
    const other = single(({ input }: NodeContext<string>) => ({ data: `other ${input}` }), { id: 'other' })
    const asks = (question: string) => async () => ({ data: await useInterrupt(textInterrupt(question)) })
    const forks = wired(
      {
        first: () => ({}),
        a: asks('A?'),
        b: asks('B?'),
        joins: ({ input }: NodeContext<{ a: string; b: string }>) => ({
          data: `${input.a} ${input.b}`,
          transitionTo: 'other',
        }),
      },
      [
        ['start', 'first'],
        ['first', ['a', 'b'], { join: 'joins' }],
        ['a', 'joins'],
        ['b', 'joins'],
        ['joins', 'end'],
      ],
      { id: 'forks' },
    )
    const { runtime, run } = await startRun(caller(forks, [subAgentCall('forks', 'c1')]), { workflows: [other] })
    const { pendings } = await run.result()
    expect(pendings).toHaveLength(2)
    for (const { id } of pendings) {
      await runtime.answer('s', { kind: 'interrupt', id, response: id.includes('1.a.1') ? 'yes' : 'no' })
    }
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed' })
    expect((await callsIn(runtime))['c1']?.output).toBe('other yes no')
    await validLog(runtime)
  })

  test('stops at its next commit on shutdown, and another process continues', async () => {
    const store = memoryStore()
    const held = gate()
    const began = gate()
    const done: string[] = []
    const walks = sequence(
      {
        first: async () => {
          await useStep('first', async () => {
            began.open()
            await held.opened
            done.push('first')
          })
        },
        last: async () => ({ data: await useStep('last', () => `${done.push('last')}`) }),
      },
      { id: 'walks' },
    )
    const testAgent = caller(walks, [subAgentCall('walks', 'c1')])
    const { runtime } = await startRun(testAgent, { store, engine: { pollMs: 10, graceMs: 60_000 } })
    await began.opened
    const closed = runtime.close()
    held.open()
    await closed
    expect(done).toEqual(['first'])
    const other = testRuntime({ store, agents: [testAgent] })
    expect(await other.run('s', 'r').result()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(done).toEqual(['first', 'last'])
    const log = await validLog(other)
    expect(chunksOf(log, 'step-discarded')).toEqual([])
  })

  test('keeps no hook results after its end', async () => {
    const large = single(
      async () => {
        const [, setState] = useWorkflowState('large', '')
        setState('state '.repeat(100))
        await useStep('large', () => 'step '.repeat(100))
        return { data: 1 }
      },
      { id: 'large' },
    )
    const kept: string[] = []
    const look = tool({
      name: 'look',
      inputSchema: z.object({}),
      async execute(_, { sessionId }) {
        const { view } = await begun.runtime.manager.view(sessionId)
        kept.push(JSON.stringify(view.internal?.hooks ?? []))
        return 'ok'
      },
    })
    const { agent: testAgent } = scripted(
      'parent',
      [{ calls: [subAgentCall('large', 'c1')] }, { calls: [call('look', 'c2')] }, { text: 'Done.' }],
      { subAgents: [large], tools: [look] },
    )
    const begun = await startRun(testAgent)
    expect(await begun.run.result()).toMatchObject({ status: 'completed' })
    expect(kept).toHaveLength(1)
    expect(kept[0]).not.toMatch(/state state|step step/)
  })
})
