// Workflows as tools that wait for a person: for a response, an approval, or until a stop.

import { describe, expect, test } from 'vitest'
import {
  approve,
  call,
  callsIn,
  counted,
  scripted,
  startRun,
  subAgentCall,
  validLog,
  writerEntries,
} from '../../api/pendings.fixture.ts'
import { gate, until } from '../../api/test-runtime.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import { subAgent } from '../../define/sub-agent.ts'
import { chunksOf, recordingModel } from '../agent/run-to-end.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useStep } from '../hooks/use-step.ts'
import { caller, echoWorkflow } from './tool.fixture.ts'
import { sequence, single, textInterrupt } from './workflow-test-run.fixture.ts'

describe('a workflow as a tool', () => {
  test('pauses the whole run for an interrupt, and another process continues', async () => {
    const done: string[] = []
    const asking = sequence(
      {
        first: async () => {
          await useStep('once', () => void done.push('step'))
          const tone = await useInterrupt(textInterrupt('Which tone?', { id: 'tone' }))
          return { data: tone }
        },
        last: ({ input }: NodeContext<string>) => ({ data: `In ${input}.` }),
      },
      { id: 'asking' },
    )
    const testAgent = caller(asking, [subAgentCall('asking', 'c1')])
    const { runtime, run } = await startRun(testAgent)
    const paused = await run.result()
    expect(paused).toMatchObject({
      status: 'paused',
      suspended: { kind: 'suspended_awaiting_children', children: [{ agentId: 'asking:c1', toolCallId: 'c1' }] },
    })
    const [pending] = paused.pendings
    expect(pending).toMatchObject({ kind: 'interrupt' })
    const log = await validLog(runtime)
    expect(chunksOf(log, 'run-paused')).toMatchObject([
      { awaits: [{ kind: 'interrupt' }, { kind: 'children', id: 'r', agentIds: ['asking:c1'] }] },
    ])
    await runtime.answer('s', { kind: 'interrupt', id: pending?.id ?? '', response: 'grey' })
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect((await callsIn(runtime))['c1']?.output).toBe('In grey.')
    expect(done).toEqual(['step'])
    await validLog(runtime)
  })

  test('requests approval of the call before it starts', async () => {
    const careful = subAgent(echoWorkflow, { name: 'careful', approval: ({ prompt }) => prompt.startsWith('do') })
    const testAgent = caller(careful, [subAgentCall('careful', 'c1'), subAgentCall('careful', 'c2', 'be')])
    const { runtime, run } = await startRun(testAgent)
    expect(await run.result()).toMatchObject({ status: 'paused' })
    expect(chunksOf(await validLog(runtime), 'subagent-start').map(({ toolCallId }) => toolCallId)).toEqual(['c2'])
    await approve(runtime, 'c1')
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed' })
    expect((await callsIn(runtime))['c1']?.output).toBe('do c1!')
  })

  test('lets siblings continue while it waits, without running its code again', async () => {
    let starts = 0
    const asking = single(
      async () => {
        starts++
        return { data: await useInterrupt(textInterrupt('Well?')) }
      },
      { id: 'asking' },
    )
    const { tool: careful, ran } = counted('careful', true)
    const { agent: child } = scripted(
      'child',
      [{ calls: [call('careful', 'k1', { n: 1 })] }, { calls: [call('careful', 'k2', { n: 2 })] }, { text: 'ok' }],
      { tools: [careful] },
    )
    const held = gate()
    const slow = single(
      async () => {
        await useStep('held', () => held.opened)
      },
      { id: 'slow' },
    )
    const { agent: busy } = scripted(
      'parent',
      [
        { calls: [subAgentCall('asking', 'c1'), subAgentCall('child', 'c2'), subAgentCall('slow', 'c3')] },
        { text: 'Done.' },
      ],
      { subAgents: [asking, child, slow] },
    )
    const { runtime, run } = await startRun(busy)
    await until(run, 'tool-approval-request')
    await approve(runtime, 'k1')
    for await (const { chunk } of run.stream()) {
      if (chunk.type === 'tool-approval-request' && chunk.toolCallId === 'k2') break
    }
    await approve(runtime, 'k2')
    for await (const { chunk } of run.stream()) {
      if (chunk.type === 'subagent-end' && chunk.agentId === 'child:c2') break
    }
    expect(ran).toEqual([1, 2])
    expect(starts).toBe(1)
    held.open()
    const { pendings } = await run.result()
    await runtime.answer('s', { kind: 'interrupt', id: pendings[0]?.id ?? '', response: 'so' })
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed' })
    expect((await callsIn(runtime))['c1']?.output).toBe('so')
    await validLog(runtime)
  })

  test('ends on a stop with its sub-agents, on their own lanes', async () => {
    const { model } = recordingModel([{ calls: [subAgentCall('inner', 'k1')] as never }, { text: 'ok' }])
    const inner = single(async () => ({ data: await useInterrupt(textInterrupt('Well?')) }), { id: 'inner' })
    const outer = single(
      async () => ({ data: (await useReason({ model, input: 'Ask', id: 'asks', subAgents: [inner] })).text }),
      { id: 'outer' },
    )
    const { runtime, run } = await startRun(caller(outer, [subAgentCall('outer', 'c1')]))
    expect(await run.result()).toMatchObject({ status: 'paused' })
    await run.stop()
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'interrupted' })
    const log = writerEntries(await validLog(runtime))
    const borders = log.filter(({ chunk }) => chunk.type.startsWith('subagent-'))
    const lane = 'main/c1/useReason:asks.1/k1'
    expect(borders.map(({ chunk, origin }) => [chunk.type, origin.agentId, origin.lane])).toEqual([
      ['subagent-start', 'r', 'main/c1'],
      ['subagent-start', 'outer:c1', lane],
      ['subagent-end', 'outer:c1', lane],
      ['subagent-end', 'r', 'main/c1'],
    ])
  })
})
