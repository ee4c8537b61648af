// Workflows as tools that wait for a person: for an answer, an approval, or until a stop.

import { describe, expect, test } from 'vitest'
import { approve, ask, begin, call, callsIn, counted, saidIn, scripted, soundLog } from '../../api/people.fixture.ts'
import { gate, until } from '../../api/test-runtime.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import { subAgent } from '../../define/sub-agent.ts'
import { chunksOf, recordingModel } from '../agent/play.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useStep } from '../hooks/use-step.ts'
import { inRow, say, single } from './play.fixture.ts'
import { caller, parrot } from './tool.fixture.ts'

describe('a workflow as a tool', () => {
  test('its questions pause the whole run, and another process goes on with the answer', async () => {
    const done: string[] = []
    const asking = inRow(
      {
        first: async () => {
          await useStep('once', () => void done.push('step'))
          const tone = await useInterrupt(say('Which tone?', { id: 'tone' }))
          return { data: tone }
        },
        last: ({ input }: NodeContext<string>) => ({ data: `In ${input}.` }),
      },
      { id: 'asking' },
    )
    const own = caller(asking, [ask('asking', 'c1')])
    const { runtime, run } = await begin(own)
    const paused = await run.result()
    expect(paused).toMatchObject({
      status: 'paused',
      suspended: { kind: 'suspended_awaiting_children', children: [{ agentId: 'asking:c1', toolCallId: 'c1' }] },
    })
    const [pending] = paused.pendings
    expect(pending).toMatchObject({ kind: 'interrupt' })
    const log = await soundLog(runtime)
    expect(chunksOf(log, 'run-paused')).toMatchObject([
      { awaits: [{ kind: 'interrupt' }, { kind: 'children', id: 'r', agentIds: ['asking:c1'] }] },
    ])
    await runtime.answer('s', { kind: 'interrupt', id: pending?.id ?? '', response: 'grey' })
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect((await callsIn(runtime))['c1']?.output).toBe('In grey.')
    expect(done).toEqual(['step'])
    await soundLog(runtime)
  })

  test('approval of the call itself is asked before it begins', async () => {
    const careful = subAgent(parrot, { name: 'careful', approval: ({ prompt }) => prompt.startsWith('do') })
    const own = caller(careful, [ask('careful', 'c1'), ask('careful', 'c2', 'be')])
    const { runtime, run } = await begin(own)
    expect(await run.result()).toMatchObject({ status: 'paused' })
    expect(chunksOf(await soundLog(runtime), 'subagent-start').map(({ toolCallId }) => toolCallId)).toEqual(['c2'])
    await approve(runtime, 'c1')
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed' })
    expect((await callsIn(runtime))['c1']?.output).toBe('do c1!')
  })

  test('while it waits its siblings go on, and looking at it again starts none of its code', async () => {
    let starts = 0
    const asking = single(
      async () => {
        starts++
        return { data: await useInterrupt(say('Well?')) }
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
      [{ calls: [ask('asking', 'c1'), ask('child', 'c2'), ask('slow', 'c3')] }, { text: 'Done.' }],
      { subAgents: [asking, child, slow] },
    )
    const { runtime, run } = await begin(busy)
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
    await soundLog(runtime)
  })

  test('a stop ends it, with what works for it, on the lanes on which they began', async () => {
    const { model } = recordingModel([{ calls: [ask('inner', 'k1')] as never }, { text: 'ok' }])
    const inner = single(async () => ({ data: await useInterrupt(say('Well?')) }), { id: 'inner' })
    const outer = single(
      async () => ({ data: (await useReason({ model, input: 'Ask', id: 'asks', subAgents: [inner] })).text }),
      { id: 'outer' },
    )
    const { runtime, run } = await begin(caller(outer, [ask('outer', 'c1')]))
    expect(await run.result()).toMatchObject({ status: 'paused' })
    await run.stop()
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'interrupted' })
    const log = saidIn(await soundLog(runtime))
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
