import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { chunksOf } from '../agent/run-to-end.fixture.ts'
import { STORES, single, textInterrupt, WorkflowTestRun, wired } from '../workflow/workflow-test-run.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useNodeState } from './use-state.ts'
import { useStep } from './use-step.ts'

const id = (name: string, nth = 1) => `1.node.1/useInterrupt:${name}.${nth}`
const hookIdOf = (nth: number) => `1.node.1/@.${nth}`
const options = [
  { id: 'a', label: 'A', description: 'first' },
  { id: 'b', label: 'B' },
]

describe.each(STORES)('several interrupts of a node, %s', (_, opening) => {
  test('asks in sequence, each answered in another process', async () => {
    let starts = 0
    const testWorkflow = single(async () => {
      starts++
      const answers: string[] = []
      for (let n = 1; n <= 5; n++) answers.push(await useInterrupt(textInterrupt(`Number ${n}?`)))
      return { data: answers }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    for (let n = 1; n <= 5; n++) {
      expect(await testRun.questionIds()).toEqual([hookIdOf(n)])
      if (n === 2 || n === 4) await testRun.restart()
      await testRun.answer(hookIdOf(n), `answer ${n}`)
    }
    const answers = [1, 2, 3, 4, 5].map(n => `answer ${n}`)
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: answers })
    expect(starts).toBe(6)
    const log = await testRun.log()
    expect(chunksOf(log, 'interrupt')).toHaveLength(5)
    expect(chunksOf(log, 'run-finished')).toHaveLength(1)
  })

  test('asks separate questions under one id in a loop', async () => {
    const testWorkflow = single(async () => {
      const answers: string[] = []
      while (answers.at(-1) !== 'done') {
        answers.push(await useInterrupt(textInterrupt(`After ${answers.join() || 'nothing'}?`, { id: 'more' })))
      }
      return { data: answers }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    for (const [index, answer] of ['one', 'two', 'done'].entries()) {
      expect(await testRun.questionIds()).toEqual([id('more', index + 1)])
      await testRun.answer(id('more', index + 1), answer)
    }
    expect(await testRun.result()).toMatchObject({ output: ['one', 'two', 'done'] })
    const questions = chunksOf(await testRun.log(), 'interrupt').map(({ input }) => input.question)
    expect(questions).toEqual(['After nothing?', 'After one?', 'After one,two?'])
  })

  test('asks again when the run returns to a node', async () => {
    const testWorkflow = wired(
      {
        node: async () => {
          const [turn, setTurn] = useNodeState(1)
          const answer = await useInterrupt(textInterrupt(`Turn ${turn}?`, { id: 'turn' }))
          setTurn(turn + 1)
          return { data: answer, condition: answer === 'stop' ? 'stop' : 'again' }
        },
      },
      [
        ['start', 'node'],
        ['node', 'node', { when: 'again', max: 5 }],
        ['node', 'end', { when: 'stop' }],
      ],
    )
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    for (const [index, answer] of ['go', 'go', 'stop'].entries()) {
      expect(await testRun.questionIds()).toEqual([`1.node.${index + 1}/useInterrupt:turn.1`])
      await testRun.answer(`1.node.${index + 1}/useInterrupt:turn.1`, answer)
    }
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'stop' })
    const questions = chunksOf(await testRun.log(), 'interrupt').map(({ input }) => input.question)
    expect(questions).toEqual(['Turn 1?', 'Turn 2?', 'Turn 3?'])
  })

  test.each([
    ['in order', ['a', 'b', 'c']],
    ['in reverse order', ['c', 'b', 'a']],
    ['from the middle', ['b', 'c', 'a']],
  ])('returns each of several parallel interrupts its own answer, answered %s', async (_, order) => {
    const testWorkflow = single(async () => {
      const all = ['a', 'b', 'c'].map(async name => {
        const answer = await useInterrupt(textInterrupt(`${name}?`, { id: name }))
        return useStep(`after ${name}`, () => `${name}=${answer}`)
      })
      return { data: await Promise.all(all) }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    let open = ['a', 'b', 'c']
    for (const name of order) {
      expect(await testRun.questionIds()).toEqual(open.map(other => id(other)))
      if (open.length === 2) await testRun.restart()
      await testRun.answer(id(name), name.toUpperCase())
      open = open.filter(other => other !== name)
    }
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: ['a=A', 'b=B', 'c=C'] })
    expect(chunksOf(await testRun.log(), 'interrupt')).toHaveLength(3)
  })

  test('keeps concurrent responses to parallel interrupts', async () => {
    const names = ['a', 'b', 'c', 'd']
    const testWorkflow = single(async () => ({
      data: await Promise.all(names.map(name => useInterrupt(textInterrupt(`${name}?`, { id: name })))),
    }))
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await testRun.result()
    await Promise.all(names.map(name => testRun.answer(id(name), name)))
    let result = await testRun.result()
    while (result.status === 'paused') result = await testRun.result()
    expect(result).toMatchObject({ status: 'completed', output: names })
  })
})

describe('kinds', () => {
  const ask = async (request: object, more: object = {}) => {
    const testWorkflow = single(async () => ({ data: await useInterrupt({ request, id: 'q', ...more } as never) }))
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    return testRun
  }

  test('text accepts any string and nothing else', async () => {
    const testRun = await ask({ kind: 'text' })
    for (const response of [5, null, ['x'], { text: 'x' }]) {
      expect(await testRun.answerError(id('q'), response)).toBe('answer_invalid')
    }
    await testRun.answer(id('q'), '')
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: '' })
  })

  test('choice accepts the id of an option', async () => {
    const testRun = await ask({ kind: 'choice', question: 'Which?', options })
    for (const response of ['c', 'A', '', ['a'], { id: 'a' }, null]) {
      expect(await testRun.answerError(id('q'), response)).toBe('answer_invalid')
    }
    await testRun.answer(id('q'), 'b')
    expect(await testRun.result()).toMatchObject({ output: 'b' })
  })

  test('multi-choice accepts distinct ids of options', async () => {
    const testRun = await ask({ kind: 'multi-choice', question: 'Which?', options })
    for (const response of ['a', ['c'], ['a', 'a'], [['a']]]) {
      expect(await testRun.answerError(id('q'), response)).toBe('answer_invalid')
    }
    await testRun.answer(id('q'), ['b', 'a'])
    expect(await testRun.result()).toMatchObject({ output: ['b', 'a'] })
  })

  test('form accepts an object that fits its schema, and publishes the fields', async () => {
    const responseSchema = z.object({ name: z.string().transform(name => name.trim()), age: z.number().int() })
    const testRun = await ask({ kind: 'form', question: 'Who?' }, { responseSchema })
    const { interrupts } = await testRun.view()
    expect(interrupts[0]?.input).toMatchObject({ kind: 'form', schema: { properties: { name: { type: 'string' } } } })
    for (const response of [null, 'Ann', { name: 'Ann' }, { name: 'Ann', age: '7' }]) {
      expect(await testRun.answerError(id('q'), response)).toBe('answer_invalid')
    }
    await testRun.answer(id('q'), { name: ' Ann ', age: 7 })
    expect(await testRun.result()).toMatchObject({ output: { name: 'Ann', age: 7 } })
  })

  test('form accepts a schema in its request', async () => {
    const testRun = await ask({ kind: 'form', schema: { type: 'object' } })
    await testRun.answer(id('q'), { any: 1 })
    expect(await testRun.result()).toMatchObject({ output: { any: 1 } })
  })

  test('asks again with the problem after an invalid response, in any process', async () => {
    const testWorkflow = single(async () => ({
      data: await useInterrupt(
        textInterrupt('Code?', { id: 'q', responseSchema: z.string().min(4), meta: { hint: 'four' } }),
      ),
    }))
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    await testRun.answer(id('q'), 'ab')
    expect(await testRun.questionIds()).toEqual([`${id('q')}.2`])
    await testRun.restart()
    await testRun.answer(`${id('q')}.2`, 'abc')
    expect(await testRun.questionIds()).toEqual([`${id('q')}.3`])
    await testRun.answer(`${id('q')}.3`, 'abcd')
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'abcd' })
    const interrupts = chunksOf(await testRun.log(), 'interrupt')
    expect(interrupts).toHaveLength(3)
    expect(interrupts.map(({ meta }) => Object.keys(meta ?? {}))).toEqual([
      ['hint'],
      ['hint', 'problem'],
      ['hint', 'problem'],
    ])
  })

  test('publishes only the fields of the request that are meant for people', async () => {
    const request = {
      kind: 'choice',
      question: 'Which?',
      options: [{ id: 'a', label: 'A', value: 'sk-hidden', description: 'd' }],
      secret: 'sk-hidden',
    }
    const testRun = await ask(request, { schemaId: 'which', schemaVersion: '2', meta: { color: 'red' } })
    const [chunk] = chunksOf(await testRun.log(), 'interrupt')
    expect(chunk).toMatchObject({
      schemaId: 'which',
      schemaVersion: '2',
      meta: { color: 'red' },
      input: { kind: 'choice', question: 'Which?', options: [{ id: 'a', label: 'A', description: 'd' }] },
    })
    expect(JSON.stringify(await testRun.log())).not.toContain('sk-hidden')
  })

  test('validates a request that is built at run time', async () => {
    const requestSchema = z.object({
      kind: z.literal('text'),
      question: z.string().transform(text => text.trim()),
    })
    const testRun = await ask({ kind: 'text', question: '  Who? ' }, { requestSchema })
    expect(chunksOf(await testRun.log(), 'interrupt')).toMatchObject([{ input: { question: 'Who?' } }])
    const wrong = await ask({ kind: 'text', question: 5 }, { requestSchema })
    expect(await wrong.result()).toMatchObject({ status: 'failed', error: { code: 'validation_failed' } })
    expect(chunksOf(await wrong.log(), 'interrupt')).toEqual([])
  })

  test.each<[string, object, object, string]>([
    ['no kind', {}, {}, 'kind'],
    ['an unknown kind', { kind: 'voice' }, {}, 'kind'],
    ['a question that is not text', { kind: 'text', question: 5 }, {}, 'question'],
    ['no options', { kind: 'choice', question: 'Q' }, {}, 'options'],
    ['empty options', { kind: 'choice', question: 'Q', options: [] }, {}, 'options'],
    ['two options with one id', { kind: 'choice', question: 'Q', options: [options[0], options[0]] }, {}, 'options.1'],
    ['an option without a label', { kind: 'multi-choice', question: 'Q', options: [{ id: 'a' }] }, {}, 'options.0'],
    ['a form without a schema', { kind: 'form' }, {}, 'schema'],
    ['a timeout that is not a number', { kind: 'text' }, { timeoutMs: Number.NaN }, 'timeoutMs'],
    ['a negative timeout', { kind: 'text' }, { timeoutMs: -1 }, 'timeoutMs'],
    ['meta that is not JSON', { kind: 'text' }, { meta: { at: () => 1 } }, 'meta'],
    ['meta that is not an object', { kind: 'text' }, { meta: 'red' }, 'meta'],
    ['a schemaId that is not text', { kind: 'text' }, { schemaId: 5 }, 'schemaId'],
    ['an id that is too long', { kind: 'text' }, { id: 'x'.repeat(65) }, 'id'],
    ['an empty id', { kind: 'text' }, { id: '' }, 'id'],
    ['a responseSchema that is not a schema', { kind: 'text' }, { responseSchema: {} }, 'responseSchema'],
  ])('throws in the node for %s, and names the field', async (_, request, more, found) => {
    const testRun = await ask(request, more)
    const { status, error } = await testRun.result()
    expect([status, error?.code]).toEqual(['failed', 'validation_failed'])
    expect(error?.message).toContain('useInterrupt')
    expect(error?.message).toContain(found)
    expect(chunksOf(await testRun.log(), 'interrupt')).toEqual([])
  })
})
