// Where hooks may be called, and how they are told apart.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { call } from '../../api/people.fixture.ts'
import { gate } from '../../api/test-runtime.fixture.ts'
import { tool } from '../../define/tool.ts'
import { settled } from '../../drive/clock.fixture.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { inRow, Play, say, single } from '../workflow/play.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useReason } from './use-reason.ts'
import { useRuntimeContext } from './use-runtime-context.ts'
import { useNodeState, useWorkflowState } from './use-state.ts'
import { useStep } from './use-step.ts'
import { useStructuredData } from './use-structured-data.ts'

const HOOKS: readonly (readonly [string, () => unknown])[] = [
  ['useInterrupt', () => useInterrupt(say('One?'))],
  ['useStep', () => useStep('a', () => 1)],
  ['useNodeState', () => useNodeState(1)],
  ['useWorkflowState', () => useWorkflowState('k', 1)],
  ['useStructuredData', () => useStructuredData({ data: 1 })],
  ['useRuntimeContext', () => useRuntimeContext()],
]

/** What a hook throws, at once or later. */
const thrownBy = async (code: () => unknown): Promise<string> => {
  try {
    await code()
    return 'nothing'
  } catch (error) {
    return (error as Error).message
  }
}

describe.each(HOOKS)('%s', (name, hook) => {
  test('outside a node it is refused, by name', async () => {
    expect(await thrownBy(hook)).toMatch(new RegExp(`^${name}: expected to be called while a node runs`))
  })

  test('in a step, in a tool, and in a rule of a node it is refused', async () => {
    const seen: string[] = []
    const look = tool({
      name: 'look',
      inputSchema: z.object({}),
      execute: async () => void seen.push(await thrownBy(hook)),
    })
    const model = scriptedModel([{ calls: [call('look', 'c1')] }, { text: 'Done.' }])
    const own = single({
      run: async () => {
        await useStep('outer', async () => void seen.push(await thrownBy(hook)))
        await useReason({ model, input: 'Go.', tools: [look] })
        throw new Error('so that the rule is asked')
      },
      retry: {
        attempts: 2,
        when: () => {
          thrownBy(hook).then(message => seen.push(message))
          return false
        },
      },
    })
    const play = await Play.of(own)
    await play.result()
    expect(seen).toHaveLength(3)
    for (const message of seen) expect(message).toMatch(new RegExp(`^${name}: expected to be called while a node runs`))
  })

  test('what is left of a node that has ended gets nothing by it, and changes nothing', async () => {
    const ended = gate()
    const left = Promise.withResolvers<string>()
    const own = inRow({
      node: () => {
        const late = async () => {
          await ended.opened
          return Promise.race([
            thrownBy(hook),
            settled()
              .then(settled)
              .then(() => 'no answer came'),
          ])
        }
        late().then(left.resolve)
      },
      last: async () => {
        ended.open()
        return { data: await left.promise }
      },
    })
    const play = await Play.of(own)
    const { status, output } = await play.result()
    expect([status, output]).toEqual(['completed', expect.stringMatching(/no answer came|had ended/)])
    expect((await play.view()).structured).toEqual([])
    await play.log()
  })
})

describe('side by side', () => {
  test('hooks without ids are refused while another is under way', async () => {
    const own = single(async () => {
      await Promise.all([useInterrupt(say('One?')), useInterrupt(say('Two?'))])
    })
    const play = await Play.of(own)
    const { status, error } = await play.result()
    expect([status, error?.code]).toEqual(['failed', 'validation_failed'])
    expect(error?.message).toContain('give both an id')
  })

  test.each([
    [{ id: 'a' }, {}],
    [{}, { id: 'b' }],
  ])('also where only one of them has an id: %o and %o', async (first, second) => {
    const own = single(async () => {
      await Promise.all([useInterrupt(say('One?', first)), useInterrupt(say('Two?', second))])
    })
    expect(await (await Play.of(own)).result()).toMatchObject({
      status: 'failed',
      error: { code: 'validation_failed' },
    })
  })

  test('one after the other they need none, and different hooks are told apart', async () => {
    const own = single(async () => {
      const one = await useInterrupt(say('One?'))
      const step = await useStep('x', () => 'step')
      const two = await useInterrupt(say('Two?', { id: 'x' }))
      return { data: [one, step, two] }
    })
    const play = await Play.of(own)
    await play.result()
    await play.answer('1.node.1/@.1', '1')
    await play.result()
    await play.answer('1.node.1/useInterrupt:x.1', '2')
    expect(await play.result()).toMatchObject({ output: ['1', 'step', '2'] })
  })

  test('a node that ends while a hook is under way fails: every hook is awaited', async () => {
    const done = gate()
    const step = single(() => {
      void useStep('slow', () => done.opened)
    })
    const question = single(() => {
      void useInterrupt(say('One?'))
    })
    for (const own of [step, question]) {
      const play = await Play.of(own)
      const { status, error } = await play.result()
      expect([status, error?.code]).toEqual(['failed', 'validation_failed'])
      expect(error?.message).toContain('await every hook')
      await play.log()
    }
    done.open()
  })

  test('nodes of runs side by side have each their own', async () => {
    const own = single(async ({ runId }) => {
      const [before, set] = useWorkflowState('k', 'none')
      set(runId)
      await useStep('turn', () => new Promise(resolve => setImmediate(resolve)))
      return { data: [before, useWorkflowState<string>('k')[0] ?? '', runId] }
    })
    const play = await Play.of(own)
    const names = ['a', 'b', 'c', 'd']
    const runs = await Promise.all(
      names.map(name => play.runtime.start({ workflow: own, input: 'x', session: name, runId: name })),
    )
    const outputs = await Promise.all(runs.map(async run => (await run.result()).output))
    expect(outputs).toEqual(names.map(name => ['none', name, name]))
  })
})
