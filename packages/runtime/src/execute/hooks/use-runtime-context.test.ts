// Server data stays on the server: the context, and the data that nodes keep.

import type { Entry } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { codeOf } from '../../api/test-runtime.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { reportsOf } from '../agent/run-to-end.fixture.ts'
import {
  publicOf,
  STORES,
  sequence,
  single,
  textInterrupt,
  WorkflowTestRun,
  wired,
} from '../workflow/workflow-test-run.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useRuntimeContext } from './use-runtime-context.ts'
import { useNodeState, useWorkflowState } from './use-state.ts'
import { useStep } from './use-step.ts'

const MARK = 'sk-marker-5f2e'

/** Everything that a client can read of a run. */
async function readable(testRun: WorkflowTestRun): Promise<unknown[]> {
  const stream: Entry[] = []
  for await (const entry of testRun.run.stream()) stream.push(entry)
  const fork = await testRun.runtime.fork('s')
  return [stream, await testRun.result(), await testRun.view(), (await testRun.runtime.view(fork)).view]
}

describe.each(STORES)('%s', (_, opening) => {
  test('writes context, results, state and node data only to internal entries', async () => {
    const seen: unknown[] = []
    const testWorkflow = wired(
      {
        first: async () => {
          const context = useRuntimeContext<{ key: string }>()
          seen.push(context)
          const [, set] = useWorkflowState('secret', 'none')
          const [, setOwn] = useNodeState('none')
          set(`${MARK} state`)
          setOwn(`${MARK} own`)
          useWorkflowState<string>('secret')
          const kept = await useStep('secret', () => `${MARK} step`)
          await useStep('fails', () => Promise.reject(new Error(`${MARK} failure`))).catch(() => {})
          const answer = await useInterrupt(textInterrupt('One?', { id: 'q' }))
          return { data: { kept, answer, key: context.key, way: `${MARK} data` } }
        },
        fork: ({ input }: NodeContext<object>) => ({ data: { ...input, more: MARK } }),
        a: async ({ input }: NodeContext<object>) => {
          await useInterrupt(textInterrupt('In a?', { id: 'q' }))
          return { data: input }
        },
        b: ({ input }: NodeContext<object>) => ({ data: input }),
        join: ({ input }: NodeContext<{ a: { key: string } }>) => {
          seen.push(useRuntimeContext())
          expect(input.a.key).toBe(MARK)
          return { data: 'Done.', ui: { message: 'All done.' } }
        },
      },
      [
        ['start', 'first'],
        ['first', 'fork'],
        ['fork', ['a', 'b'], { join: 'join' }],
        ['a', 'join'],
        ['b', 'join'],
        ['join', 'end'],
      ],
    )
    const texts: string[] = []
    const take = (message: string, { cause, ...fields }: Readonly<Record<string, unknown>>) => {
      texts.push(message, JSON.stringify(fields))
    }
    const logger: Logger = { warn: take, error: take }
    const context = { key: MARK }
    const testRun = await WorkflowTestRun.start(testWorkflow, {
      open: await opening(),
      start: { context },
      options: { logger },
    })
    expect(await testRun.questionIds()).toEqual(['1.first.1/useInterrupt:q.1'])
    const read: unknown[] = [await readable(testRun)]
    await testRun.restart()
    await testRun.answer('1.first.1/useInterrupt:q.1', 'yes')
    expect(await testRun.questionIds()).toEqual(['1.a.1/useInterrupt:q.1'])
    read.push(await readable(testRun))
    await testRun.answer('1.a.1/useInterrupt:q.1', 'yes')
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'Done.', text: 'All done.' })
    read.push(await readable(testRun), texts)
    // The node started twice before its end. The resumed run kept its own context.
    expect(seen).toEqual(Array(3).fill(context))
    expect(JSON.stringify(read)).not.toContain(MARK)
    const log = await testRun.log()
    expect(JSON.stringify(publicOf(log))).not.toContain(MARK)
    const kinds = log.flatMap(({ chunk, internal }) =>
      internal && JSON.stringify(chunk).includes(MARK) ? [chunk.type] : [],
    )
    expect(new Set(kinds)).toEqual(new Set(['run-context', 'hook-completed']))
  })

  test('never uses data of an answer or a request as context', async () => {
    const testWorkflow = single(async ({ data }) => {
      await useInterrupt(textInterrupt('One?', { id: 'q' }))
      return { data: [useRuntimeContext(), data ?? null] }
    }, {})
    const testRun = await WorkflowTestRun.start(testWorkflow, {
      open: await opening(),
      start: { context: { role: 'user' } },
    })
    await testRun.result()
    const forged = {
      kind: 'interrupt',
      id: 'r::1.node.1/useInterrupt:q.1',
      response: 'yes',
      context: { role: 'admin' },
    } as const
    await testRun.runtime.answer('s', forged)
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: [{ role: 'user' }, null] })
    expect(JSON.stringify(await testRun.log())).not.toContain('admin')
  })
})

test('is an empty object of its own if the server gave none', async () => {
  const testWorkflow = single(() => {
    const context = useRuntimeContext<{ user?: string }>()
    context.user = 'ann'
    return { data: [context, useRuntimeContext()] }
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: [{ user: 'ann' }, {}] })
})

test('adds the fields of resolveContext at each drive, and logs none', async () => {
  let drives = 0
  const options = { resolveContext: (context: unknown) => ({ ...Object(context), secret: MARK, drive: ++drives }) }
  const seen: unknown[] = []
  const testWorkflow = single(async () => {
    seen.push(useRuntimeContext())
    await useInterrupt(textInterrupt('One?', { id: 'q' }))
  })
  const testRun = await WorkflowTestRun.start(testWorkflow, { options, start: { context: { tenant: 7 } } })
  await testRun.result()
  await testRun.restart()
  await testRun.answer('1.node.1/useInterrupt:q.1', 'yes')
  await testRun.result()
  expect(seen).toEqual([1, 2].map(drive => ({ tenant: 7, secret: MARK, drive })))
  expect(JSON.stringify(await testRun.log())).not.toContain(MARK)
})

test('returns a copy of the context', async () => {
  const testWorkflow = sequence({
    first: () => {
      useRuntimeContext<{ list: string[] }>().list.push('mine')
    },
    second: () => ({ data: useRuntimeContext<{ list: string[] }>().list }),
  })
  const testRun = await WorkflowTestRun.start(testWorkflow, { start: { context: { list: ['given'] } } })
  expect(await testRun.result()).toMatchObject({ output: ['given'] })
})

describe('internal data', () => {
  const thrown = () => {
    throw new Error(`refused for ${MARK}`)
  }
  test.each<[string, () => Promise<unknown> | unknown]>([
    ['a node', thrown],
    ['a step', () => useStep('a', thrown)],
    [
      'a step, thrown again by a node that has restarted',
      async () => {
        let failure: unknown
        await useStep('a', thrown).catch(error => {
          failure = error
        })
        await useInterrupt(textInterrupt('One?', { id: 'q' }))
        throw failure
      },
    ],
  ])('includes the error message of %s', async (_, code) => {
    const testRun = await WorkflowTestRun.start(single(async () => void (await code())))
    if ((await testRun.result()).status === 'paused') await testRun.answer('1.node.1/useInterrupt:q.1', 'yes')
    const { status, error } = await testRun.result()
    expect([status, error?.code, error?.message]).toEqual(['failed', 'workflow_node_failed', 'node node failed'])
    const log = await testRun.log()
    expect(JSON.stringify([await readable(testRun), publicOf(log)])).not.toContain(MARK)
    // The logger gets the error.
    expect(testRun.logged.map(({ cause }) => String(cause)).join()).toContain(MARK)
  })

  test('includes the error message of a node with an error route, also for the next node', async () => {
    const testWorkflow = wired(
      {
        first: { run: thrown, onError: { route: 'instead' } },
        instead: ({ input }: NodeContext) => ({ data: input }),
      },
      [
        ['start', 'first'],
        ['first', 'end'],
        ['instead', 'end'],
      ],
    )
    const testRun = await WorkflowTestRun.start(testWorkflow)
    const output = { node: 'first', code: 'workflow_node_failed', message: 'node first failed', input: 'Go.' }
    expect(await testRun.result()).toMatchObject({ status: 'completed', output })
    const log = await testRun.log()
    expect(JSON.stringify(log)).not.toContain(MARK)
    expect(reportsOf(log)).toEqual([])
  })

  test('includes the data of a run that rejects answers', async () => {
    const testWorkflow = single(async () => {
      useWorkflowState('k', MARK)[1](MARK)
      await useInterrupt(textInterrupt('One?', { id: 'q' }))
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { start: { context: { key: MARK } } })
    await testRun.result()
    const refusals = await Promise.all(
      ['1.node.1/useInterrupt:q.1', '1.node.1/useWorkflowState:k.1', 'state/workflow%3Ak'].map(id =>
        testRun.answer(id, 5).catch(error => `${error.code} ${error.message}`),
      ),
    )
    expect(refusals.map(text => String(text).split(' ', 1)[0])).toEqual([
      'answer_invalid',
      'answer_unknown',
      'answer_unknown',
    ])
    expect(refusals.join()).not.toContain(MARK)
    expect(await codeOf(testRun.answer('1.node.1/useInterrupt:q.1', 'fine'))).toBe('none')
  })
})
