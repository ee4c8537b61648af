// An answer is to the question that a person was shown, and may be null; and there is a bound to what is asked.

import { memoryStore } from '@millrace/log'
import { MAX_PENDINGS } from '@millrace/log/internal'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { testRuntime, until } from '../../api/test-runtime.fixture.ts'
import type { Workflow } from '../../define/workflow.ts'
import { chunksOf } from '../agent/play.fixture.ts'
import { Play, say, single } from '../workflow/play.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useStep } from './use-step.ts'

const Q = '1.node.1/useInterrupt:q.1'
const optionsOf = (...ids: string[]) => ids.map(id => ({ id, label: id }))
const keep = { request: { kind: 'choice', question: 'Keep it?', options: optionsOf('yes', 'no') } }
const erase = { request: { kind: 'choice', question: 'Erase it?', options: optionsOf('yes', 'no') } }
const asks = (options: object, isThenWaiting = false): Workflow =>
  single(async () => {
    const answer = await useInterrupt({ id: 'q', ...options } as never)
    if (isThenWaiting) await useInterrupt(say('And then?', { id: 'then' }))
    return { data: answer }
  })

/** Lets code ask, and other code of the same version go on: with the answer to come, or with one that was given before. */
async function changed(before: object, after: object, isAnswered: boolean, response: unknown = 'yes') {
  const store = memoryStore()
  const own = asks(before, isAnswered)
  const play = await Play.of(own, { open: () => store })
  await play.result()
  if (isAnswered) await play.answer(Q, response as never)
  await play.result()
  await play.runtime.close()
  const next = testRuntime({ store, workflows: [asks(after, isAnswered)] })
  const id = `r::${isAnswered ? '1.node.1/useInterrupt:then.1' : Q}`
  await next.answer('s', { kind: 'interrupt', id, response: (isAnswered ? 'so' : response) as never })
  const { status, error, output } = await next.run('s', 'r').result()
  return { status, code: error?.code, output, message: error?.message }
}

describe.each([
  ['that waits', false],
  ['that was answered', true],
] as const)('a question %s', (_, isAnswered) => {
  test.each<[what: string, before: object, after: object, response: unknown]>([
    ['another text', keep, erase, 'yes'],
    ['other options', keep, { request: { ...keep.request, options: optionsOf('yes', 'erase') } }, 'yes'],
    ['another kind', keep, say('Keep it?'), 'yes'],
    [
      'another form',
      { request: { kind: 'form' }, responseSchema: z.object({ a: z.string() }) },
      { request: { kind: 'form' }, responseSchema: z.object({ a: z.string(), b: z.string().optional() }) },
      { a: 'x' },
    ],
  ])('is not answered to other code: %s', async (_, before, after, response) => {
    const { message, ...end } = await changed(before, after, isAnswered, response)
    expect(end).toEqual({ status: 'failed', code: 'workflow_changed', output: undefined })
    expect(message).toContain('useInterrupt asks another question than the one that a person was shown')
  })

  test('is the same, though its options hold more for the code, and what goes along has changed', async () => {
    const more = { request: { ...keep.request, options: optionsOf('yes', 'no').map(one => ({ ...one, own: 1 })) } }
    const end = await changed(keep, { ...more, meta: { page: 2 }, timeout: 60_000 }, isAnswered)
    expect(end).toMatchObject({ status: 'completed', output: 'yes' })
  })
})

test('code that catches it does not go on with the answer to another question', async () => {
  const store = memoryStore()
  const play = await Play.of(asks(keep), { open: () => store })
  await play.result()
  await play.runtime.close()
  const caught = single(async () => ({
    data: await useInterrupt({ id: 'q', ...erase } as never).catch(() => 'caught'),
  }))
  const next = testRuntime({ store, workflows: [caught] })
  await next.answer('s', { kind: 'interrupt', id: `r::${Q}`, response: 'yes' })
  expect(await next.run('s', 'r').result()).toMatchObject({ status: 'failed', error: { code: 'workflow_changed' } })
})

test('a try that asks something else than the one before drops that question, and asks its own', async () => {
  let tries = 0
  const own = single({
    retry: { attempts: 2, backoff: { first: 1 } },
    run: async () => {
      const nth = ++tries
      const asking = useInterrupt(say(nth === 1 ? 'Before?' : 'After?', { id: 'q' }))
      const failing = useStep('fail', async () => {
        if (nth > 1) return
        await until(play.run, 'interrupt')
        throw new Error('the first try')
      })
      return { data: (await Promise.all([asking, failing]))[0] }
    },
  })
  const play = await Play.of(own)
  expect(await play.asked()).toEqual([`${Q}.2`])
  await play.answer(`${Q}.2`, 'yes')
  expect(await play.result()).toMatchObject({ status: 'completed', output: 'yes' })
  const { interrupts } = await play.view()
  expect(interrupts.map(({ input, response }) => [input.question, response])).toEqual([
    ['Before?', null],
    ['After?', 'yes'],
  ])
})

describe('null', () => {
  const nullable = { request: { kind: 'form' }, responseSchema: z.object({ a: z.string() }).nullable() }

  test('is an answer where the form takes it, now and when it comes from the log', async () => {
    const play = await Play.of(asks({ ...nullable, timeout: 60_000 }, true))
    expect(await play.asked()).toEqual([Q])
    await play.answer(Q, null)
    expect(await play.asked()).toEqual(['1.node.1/useInterrupt:then.1'])
    await play.restart()
    await play.answer('1.node.1/useInterrupt:then.1', 'so')
    expect(await play.result()).toMatchObject({ status: 'completed', output: null })
    expect(chunksOf(await play.log(), 'interrupt')).toHaveLength(2)
  })

  test('is no answer where the form does not take it', async () => {
    const play = await Play.of(asks({ request: { kind: 'form' }, responseSchema: z.object({ a: z.string() }) }))
    await play.result()
    expect(await play.refusal(Q, null)).toBe('answer_invalid')
    expect(await play.asked()).toEqual([Q])
  })
})

describe('bounds', () => {
  const codeIn = (error: unknown) => (error as { code: string }).code
  const all = (count: number) => Array.from({ length: count }, (_, n) => `q${n}`)

  test('more questions at a time than a run may wait for: the one too many throws in its node, and the others wait', async () => {
    const caught: string[] = []
    const asking = async (id: string) => {
      await useInterrupt(say('Well?', { id })).catch((error: Error) => void caught.push(error.message))
    }
    const own = single(async () => void (await Promise.all(all(MAX_PENDINGS + 1).map(asking))))
    const play = await Play.of(own)
    expect(await play.asked()).toHaveLength(MAX_PENDINGS)
    expect(caught).toEqual(['useInterrupt: a run may wait for 256 answers at most: ask fewer at a time'])
  })

  test('it fails the node by a code of its own', async () => {
    const asking = all(MAX_PENDINGS + 1)
    const own = single(async () => void (await Promise.all(asking.map(id => useInterrupt(say('Well?', { id }))))))
    const play = await Play.of(own)
    expect(await play.result()).toMatchObject({ status: 'failed', error: { code: 'interrupt_too_many' }, pendings: [] })
  })

  test('a question that is too large is called so', async () => {
    const own = single(async () => {
      const long = await useInterrupt(say('x'.repeat(2_000_000))).catch(error => error)
      return { data: [codeIn(long), (long as Error).message] }
    })
    const play = await Play.of(own)
    expect((await play.result()).output).toEqual([
      'hook_result_too_large',
      'useInterrupt: the question exceeds the size limit of the log: ask less, or show a link',
    ])
  })
})
