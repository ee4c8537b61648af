// A response belongs to the request that the person saw, and may be null. Requests have limits.

import { memoryStore } from '@millrace/log'
import { MAX_PENDINGS } from '@millrace/log/internal'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { testRuntime, until } from '../../api/test-runtime.fixture.ts'
import type { Workflow } from '../../define/workflow.ts'
import { chunksOf } from '../agent/run-to-end.fixture.ts'
import { single, textInterrupt, WorkflowTestRun } from '../workflow/workflow-test-run.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useStep } from './use-step.ts'

const Q = '1.node.1/useInterrupt:q.1'
const optionsOf = (...ids: string[]) => ids.map(id => ({ id, label: id }))
const keep = { request: { kind: 'choice', question: 'Keep it?', options: optionsOf('yes', 'no') } }
const erase = { request: { kind: 'choice', question: 'Erase it?', options: optionsOf('yes', 'no') } }
const asks = (options: object, isThenWaiting = false): Workflow =>
  single(async () => {
    const answer = await useInterrupt({ id: 'q', ...options } as never)
    if (isThenWaiting) await useInterrupt(textInterrupt('And then?', { id: 'then' }))
    return { data: answer }
  })

/** Runs code that asks, then other code of the same version, before or after the response. */
async function changed(before: object, after: object, isAnswered: boolean, response: unknown = 'yes') {
  const store = memoryStore()
  const testWorkflow = asks(before, isAnswered)
  const testRun = await WorkflowTestRun.start(testWorkflow, { open: () => store })
  await testRun.result()
  if (isAnswered) await testRun.answer(Q, response as never)
  await testRun.result()
  await testRun.runtime.close()
  const next = testRuntime({ store, workflows: [asks(after, isAnswered)] })
  const id = `r::${isAnswered ? '1.node.1/useInterrupt:then.1' : Q}`
  await next.answer('s', { kind: 'interrupt', id, response: (isAnswered ? 'so' : response) as never })
  const { status, error, output } = await next.run('s', 'r').result()
  return { status, code: error?.code, output, message: error?.message }
}

describe.each([
  ['waiting', false],
  ['answered', true],
] as const)('a changed %s question', (_, isAnswered) => {
  test.each<[what: string, before: object, after: object, response: unknown]>([
    ['another text', keep, erase, 'yes'],
    ['other options', keep, { request: { ...keep.request, options: optionsOf('yes', 'erase') } }, 'yes'],
    ['another kind', keep, textInterrupt('Keep it?'), 'yes'],
    [
      'another form',
      { request: { kind: 'form' }, responseSchema: z.object({ a: z.string() }) },
      { request: { kind: 'form' }, responseSchema: z.object({ a: z.string(), b: z.string().optional() }) },
      { a: 'x' },
    ],
  ])('fails the run if the code now asks with %s', async (_, before, after, response) => {
    const { message, ...end } = await changed(before, after, isAnswered, response)
    expect(end).toEqual({ status: 'failed', code: 'workflow_changed', output: undefined })
    expect(message).toContain('the request of useInterrupt differs from the one that was shown')
  })

  test('counts as the same if only options have other data, or meta differs', async () => {
    const more = {
      request: { ...keep.request, options: optionsOf('yes', 'no').map(option => ({ ...option, own: 1 })) },
    }
    const end = await changed(keep, { ...more, meta: { page: 2 }, timeoutMs: 60_000 }, isAnswered)
    expect(end).toMatchObject({ status: 'completed', output: 'yes' })
  })
})

test('does not continue with the response to another question, even if the error is caught', async () => {
  const store = memoryStore()
  const testRun = await WorkflowTestRun.start(asks(keep), { open: () => store })
  await testRun.result()
  await testRun.runtime.close()
  const caught = single(async () => ({
    data: await useInterrupt({ id: 'q', ...erase } as never).catch(() => 'caught'),
  }))
  const next = testRuntime({ store, workflows: [caught] })
  await next.answer('s', { kind: 'interrupt', id: `r::${Q}`, response: 'yes' })
  expect(await next.run('s', 'r').result()).toMatchObject({ status: 'failed', error: { code: 'workflow_changed' } })
})

test('drops a different request of an earlier attempt and asks its own', async () => {
  let tries = 0
  const testWorkflow = single({
    retry: { attempts: 2, backoff: { firstMs: 1 } },
    run: async () => {
      const nth = ++tries
      const asking = useInterrupt(textInterrupt(nth === 1 ? 'Before?' : 'After?', { id: 'q' }))
      const failing = useStep('fail', async () => {
        if (nth > 1) return
        await until(testRun.run, 'interrupt')
        throw new Error('the first try')
      })
      return { data: (await Promise.all([asking, failing]))[0] }
    },
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  expect(await testRun.questionIds()).toEqual([`${Q}.2`])
  await testRun.answer(`${Q}.2`, 'yes')
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'yes' })
  const { interrupts } = await testRun.view()
  expect(interrupts.map(({ input, response }) => [input.question, response])).toEqual([
    ['Before?', null],
    ['After?', 'yes'],
  ])
})

describe('null responses', () => {
  const nullable = { request: { kind: 'form' }, responseSchema: z.object({ a: z.string() }).nullable() }

  test('are accepted if the form allows null, live and on replay', async () => {
    const testRun = await WorkflowTestRun.start(asks({ ...nullable, timeoutMs: 60_000 }, true))
    expect(await testRun.questionIds()).toEqual([Q])
    await testRun.answer(Q, null)
    expect(await testRun.questionIds()).toEqual(['1.node.1/useInterrupt:then.1'])
    await testRun.restart()
    await testRun.answer('1.node.1/useInterrupt:then.1', 'so')
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: null })
    expect(chunksOf(await testRun.log(), 'interrupt')).toHaveLength(2)
  })

  test('are rejected if the form does not allow null', async () => {
    const testRun = await WorkflowTestRun.start(
      asks({ request: { kind: 'form' }, responseSchema: z.object({ a: z.string() }) }),
    )
    await testRun.result()
    expect(await testRun.answerError(Q, null)).toBe('answer_invalid')
    expect(await testRun.questionIds()).toEqual([Q])
  })
})

describe('limits', () => {
  const codeIn = (error: unknown) => (error as { code: string }).code
  const all = (count: number) => Array.from({ length: count }, (_, n) => `q${n}`)

  test('throws for the request that exceeds the maximum, and the others wait', async () => {
    const caught: string[] = []
    const asking = async (id: string) => {
      await useInterrupt(textInterrupt('Well?', { id })).catch((error: Error) => void caught.push(error.message))
    }
    const testWorkflow = single(async () => void (await Promise.all(all(MAX_PENDINGS + 1).map(asking))))
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await testRun.questionIds()).toHaveLength(MAX_PENDINGS)
    expect(caught).toEqual(['useInterrupt: a run may wait for 256 answers at most: ask fewer at a time'])
  })

  test('fails the node with its own code', async () => {
    const asking = all(MAX_PENDINGS + 1)
    const testWorkflow = single(
      async () => void (await Promise.all(asking.map(id => useInterrupt(textInterrupt('Well?', { id }))))),
    )
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await testRun.result()).toMatchObject({
      status: 'failed',
      error: { code: 'interrupt_too_many' },
      pendings: [],
    })
  })

  test('reports a request that is too large', async () => {
    const testWorkflow = single(async () => {
      const long = await useInterrupt(textInterrupt('x'.repeat(2_000_000))).catch(error => error)
      return { data: [codeIn(long), (long as Error).message] }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect((await testRun.result()).output).toEqual([
      'hook_result_too_large',
      'useInterrupt: the question exceeds the size limit of the log: ask less, or show a link',
    ])
  })
})
