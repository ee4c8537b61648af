// Where hooks may be called, and how they are identified.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { call } from '../../api/pendings.fixture.ts'
import { gate } from '../../api/test-runtime.fixture.ts'
import { tool } from '../../define/tool.ts'
import { settled } from '../../drive/clock.fixture.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { sequence, single, textInterrupt, WorkflowTestRun } from '../workflow/workflow-test-run.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useReason } from './use-reason.ts'
import { useRuntimeContext } from './use-runtime-context.ts'
import { useNodeState, useWorkflowState } from './use-state.ts'
import { useStep } from './use-step.ts'
import { useStructuredData } from './use-structured-data.ts'

const HOOKS: readonly (readonly [string, () => unknown])[] = [
  ['useInterrupt', () => useInterrupt(textInterrupt('One?'))],
  ['useStep', () => useStep('a', () => 1)],
  ['useNodeState', () => useNodeState(1)],
  ['useWorkflowState', () => useWorkflowState('k', 1)],
  ['useStructuredData', () => useStructuredData({ data: 1 })],
  ['useRuntimeContext', () => useRuntimeContext()],
]

/** The error message of a hook, thrown or rejected. */
const thrownBy = async (code: () => unknown): Promise<string> => {
  try {
    await code()
    return 'nothing'
  } catch (error) {
    return (error as Error).message
  }
}

describe.each(HOOKS)('%s', (name, hook) => {
  test('is rejected outside of a node', async () => {
    expect(await thrownBy(hook)).toMatch(new RegExp(`^${name}: expected to be called while a node runs`))
  })

  test('is rejected inside a step, a tool and an approval rule', async () => {
    const seen: string[] = []
    const look = tool({
      name: 'look',
      inputSchema: z.object({}),
      execute: async () => void seen.push(await thrownBy(hook)),
    })
    const model = scriptedModel([{ calls: [call('look', 'c1')] }, { text: 'Done.' }])
    const testWorkflow = single({
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
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    expect(seen).toHaveLength(3)
    for (const message of seen) expect(message).toMatch(new RegExp(`^${name}: expected to be called while a node runs`))
  })

  test('is rejected after its node has ended, and changes nothing', async () => {
    const ended = gate()
    const left = Promise.withResolvers<string>()
    const testWorkflow = sequence({
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
    const testRun = await WorkflowTestRun.start(testWorkflow)
    const { status, output } = await testRun.result()
    expect([status, output]).toEqual(['completed', expect.stringMatching(/no answer came|ha[ds] ended/)])
    expect((await testRun.view()).structured).toEqual([])
    await testRun.log()
  })
})

describe('parallel hooks', () => {
  test('are rejected without ids', async () => {
    const testWorkflow = single(async () => {
      await Promise.all([useInterrupt(textInterrupt('One?')), useInterrupt(textInterrupt('Two?'))])
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    const { status, error } = await testRun.result()
    expect([status, error?.code]).toEqual(['failed', 'validation_failed'])
    expect(error?.message).toContain('give both an id')
  })

  test.each([
    [{ id: 'a' }, {}],
    [{}, { id: 'b' }],
  ])('are rejected if only one of them has an id: %o and %o', async (first, second) => {
    const testWorkflow = single(async () => {
      await Promise.all([useInterrupt(textInterrupt('One?', first)), useInterrupt(textInterrupt('Two?', second))])
    })
    expect(await (await WorkflowTestRun.start(testWorkflow)).result()).toMatchObject({
      status: 'failed',
      error: { code: 'validation_failed' },
    })
  })

  test('need no ids in sequence, and different hooks have separate counters', async () => {
    const testWorkflow = single(async () => {
      const one = await useInterrupt(textInterrupt('One?'))
      const step = await useStep('x', () => 'step')
      const two = await useInterrupt(textInterrupt('Two?', { id: 'x' }))
      return { data: [one, step, two] }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    await testRun.answer('1.node.1/@.1', '1')
    await testRun.result()
    await testRun.answer('1.node.1/useInterrupt:x.1', '2')
    expect(await testRun.result()).toMatchObject({ output: ['1', 'step', '2'] })
  })

  test('must be awaited: a node that ends before a hook fails', async () => {
    const done = gate()
    const step = single(() => {
      void useStep('slow', () => done.opened)
    })
    const question = single(() => {
      void useInterrupt(textInterrupt('One?'))
    })
    for (const testWorkflow of [step, question]) {
      const testRun = await WorkflowTestRun.start(testWorkflow)
      const { status, error } = await testRun.result()
      expect([status, error?.code]).toEqual(['failed', 'validation_failed'])
      expect(error?.message).toContain('await every hook')
      await testRun.log()
    }
    done.open()
  })

  test('do not share state with the same node of a parallel run', async () => {
    const testWorkflow = single(async ({ runId }) => {
      const [before, set] = useWorkflowState('k', 'none')
      set(runId)
      await useStep('turn', () => new Promise(resolve => setImmediate(resolve)))
      return { data: [before, useWorkflowState<string>('k')[0] ?? '', runId] }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    const names = ['a', 'b', 'c', 'd']
    const runs = await Promise.all(
      names.map(name => testRun.runtime.start({ workflow: testWorkflow, input: 'x', session: name, runId: name })),
    )
    const outputs = await Promise.all(runs.map(async run => (await run.result()).output))
    expect(outputs).toEqual(names.map(name => ['none', name, name]))
  })
})
