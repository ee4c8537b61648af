import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { gate } from '../../api/test-runtime.fixture.ts'
import type { NodeContext, NodeDefinition } from '../../define/node.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useWorkflowState } from '../hooks/use-state.ts'
import { publicOf, sequence, single, textInterrupt, WorkflowTestRun, wired } from './workflow-test-run.fixture.ts'

describe('the result of a node', () => {
  test.each<[string, unknown, string]>([
    ['text', 'done', 'data'],
    ['a list', [1], 'data'],
    ['a number', 5, 'data'],
    ['data that is a function', { data: () => 1 }, 'data'],
    ['data that is no JSON', { data: 1n }, 'data'],
    ['a condition that is not a string', { condition: true }, 'condition'],
    ['a transition that is not a string', { transitionTo: 5 }, 'transitionTo'],
    ['a message that is not a string', { ui: { message: 5 } }, 'ui.message'],
    ['ui that is text', { ui: 'hello' }, 'ui'],
    ['structured data without data', { ui: { structured: { title: 'x' } } }, 'ui.structured'],
    ['structured data that is not an object', { ui: { structured: 'x' } }, 'ui.structured'],
  ])('rejects %s and names it', async (_, returned, found) => {
    const testRun = await WorkflowTestRun.start(single(() => returned as never))
    const { status, error } = await testRun.result()
    expect([status, error?.code]).toEqual(['failed', 'validation_failed'])
    expect(error?.message).toContain('node node returned')
    expect(error?.message).toContain(found)
    await testRun.log()
  })

  test.each<[string, unknown, string]>([
    ['an unknown field', { result: 1 }, 'result'],
    ['a field of another system', { data: 1, intent: 'x' }, 'intent'],
    ['an unknown field of ui', { ui: { text: 'hello' } }, 'text'],
  ])('law 10: rejects %s; only the logger gets its name', async (_, returned, field) => {
    const testRun = await WorkflowTestRun.start(single(() => returned as never))
    const { status, error } = await testRun.result()
    expect([status, error?.code]).toEqual(['failed', 'validation_failed'])
    expect(error?.message).toContain('node node returned')
    expect(error?.message).not.toContain(field)
    expect(testRun.logged.map(({ cause }) => String(cause)).join()).toContain(`there is no field ${field}`)
  })

  test.each([[undefined], [null], [{}], [{ ui: {} }], [{ data: undefined }]])(
    'after %o the next node gets the input of this one',
    async returned => {
      const testWorkflow = sequence({
        first: () => returned as never,
        second: ({ input }: NodeContext) => ({ data: { input } }),
      })
      expect(await (await WorkflowTestRun.start(testWorkflow)).result()).toMatchObject({
        status: 'completed',
        output: { input: 'Go.' },
      })
    },
  )

  test('stores data as a JSON copy', async () => {
    const shared = { at: new Date(0), list: [1], nothing: undefined }
    const testWorkflow = sequence({
      first: () => ({ data: shared }),
      second: ({ input }: NodeContext<typeof shared>) => {
        input.list.push(2)
        shared.list.push(3)
        return { data: input }
      },
    })
    const output = { at: '1970-01-01T00:00:00.000Z', list: [1, 2] }
    expect((await (await WorkflowTestRun.start(testWorkflow)).result()).output).toEqual(output)
  })

  test('fails the node if the output exceeds the limit of the log', async () => {
    const testRun = await WorkflowTestRun.start(single(() => ({ data: 'x'.repeat(2_000_000) })))
    const { status, error } = await testRun.result()
    expect([status, error?.code]).toEqual(['failed', 'hook_result_too_large'])
    expect(error?.message).toContain('node node')
    // Between nodes it may be large.
    const testWorkflow = sequence({
      first: () => ({ data: 'x'.repeat(2_000_000) }),
      second: ({ input }: NodeContext<string>) => ({ data: input.length }),
    })
    expect(await (await WorkflowTestRun.start(testWorkflow)).result()).toMatchObject({ output: 2_000_000 })
  })
})

describe('a node whose end cannot be committed', () => {
  const huge = 'x'.repeat(17_000_000)
  const next: NodeDefinition = ({ input }: NodeContext<unknown>) => ({ data: input })
  test.each<[what: string, last: boolean]>([
    ['data', false],
    ['output', true],
  ])(
    'fails without a retry for %s that exceeds the limit of the log: its text is discarded, and onError decides',
    async (_, last) => {
      let ran = 0
      const run = () => {
        ran++
        return { data: huge, ui: { message: 'There.' } }
      }
      const node = { run, retry: { attempts: 3 }, onError: { continue: 'small' } }
      const testRun = await WorkflowTestRun.start(last ? single(node) : sequence({ node, next }))
      expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'small', text: '' })
      expect(ran).toBe(1)
      await testRun.log()
      const stopped = { run, retry: { attempts: 3 } }
      const other = await WorkflowTestRun.start(last ? single(stopped) : sequence({ node: stopped, next }))
      expect(await other.result()).toMatchObject({ status: 'failed', error: { code: 'hook_result_too_large' } })
    },
  )

  test('fails if its state is too large together with that of another branch', async () => {
    let met = 0
    const both = gate()
    const branch = (name: string): NodeDefinition => ({
      run: async () => {
        for (let n = 0; n < 10; n++) useWorkflowState<string>(`${name}${n}`)[1]('x'.repeat(60_000))
        if (++met === 2) both.open()
        await both.opened
        return { data: name }
      },
      onError: { continue: 'failed' },
    })
    const testWorkflow = wired({ a: () => ({}), b: branch('b'), c: branch('c'), d: next }, [
      ['start', 'a'],
      ['a', ['b', 'c'], { join: 'd' }],
      ['b', 'd'],
      ['c', 'd'],
      ['d', 'end'],
    ])
    const { output } = await (await WorkflowTestRun.start(testWorkflow)).result()
    expect(Object.values(output as object).sort()).toEqual([expect.stringMatching(/^[bc]$/), 'failed'])
  })
})

test('law 10: a last node without data gives no output, even if it had input', async () => {
  const testWorkflow = sequence({
    first: () => ({ data: { card: '4242' } }),
    last: () => ({ ui: { message: 'Paid.' } }),
  })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: undefined, text: 'Paid.' })
  expect(JSON.stringify(publicOf(await testRun.log()))).not.toContain('4242')
})

describe('ui', () => {
  test('writes a message once, after the other text of the node, and ignores a blank one', async () => {
    const testWorkflow = sequence({
      first: async () => {
        await useInterrupt(textInterrupt('One?'))
        return { ui: { message: 'First.' } }
      },
      second: () => ({ ui: { message: '  \n' } }),
      third: () => ({ ui: { message: 'Third.', structured: { data: { n: 3 }, dataType: 'count', streamId: 'c' } } }),
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    await testRun.answer('1.first.1/@.1', 'yes')
    const { message, text } = await testRun.result()
    expect(text).toBe('First.Third.')
    expect(message?.parts.filter(({ type }) => type === 'text')).toHaveLength(2)
    expect((await testRun.view()).structured).toMatchObject([
      { streamId: 'c', dataType: 'count', status: 'done', data: { n: 3 } },
    ])
    expect(testRun.logged).toEqual([])
    await testRun.log()
  })

  test('warns if ui.message repeats streamed text', async () => {
    const node = (emit: boolean, isSame = true): NodeDefinition => ({
      run: async () => {
        const { text } = await useReason({ model: scriptedModel([{ text: 'Hello.' }]), input: 'Go.', emit })
        return { ui: { message: isSame ? text : `${text} More.` } }
      },
    })
    const warned = await WorkflowTestRun.start(single(node(true)))
    expect(await warned.result()).toMatchObject({ status: 'completed', text: 'Hello.Hello.' })
    expect(warned.logged.map(({ message }) => message)).toEqual([expect.stringContaining('shown twice')])
    for (const other of [node(false), node(true, false)]) {
      const testRun = await WorkflowTestRun.start(single(other))
      await testRun.result()
      expect(testRun.logged).toEqual([])
    }
  })

  test('allows ui independent of the output schema', async () => {
    const model = scriptedModel([{ text: '{"n":1}' }])
    const testWorkflow = single(async () => {
      const { output } = await useReason({ model, input: 'Go.', outputSchema: z.object({ n: z.number() }) })
      return { data: output, ui: { message: `It is ${output.n}.` } }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await testRun.result()).toMatchObject({ status: 'completed', text: 'It is 1.', output: { n: 1 } })
    expect(testRun.logged).toEqual([])
  })
})
