// Routing of a run: conditions, loops and transitions to other workflows.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { codeOf } from '../../api/test-runtime.fixture.ts'
import type { NodeContext, NodeFunction } from '../../define/node.ts'
import { chunksOf } from '../agent/run-to-end.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useNodeState, useWorkflowState } from '../hooks/use-state.ts'
import { STORES, sequence, single, textInterrupt, WorkflowTestRun, wired } from './workflow-test-run.fixture.ts'

const pass: NodeFunction = () => {}
const tells =
  (line: string): NodeFunction =>
  () => ({ data: line })

describe('conditions', () => {
  const branching = (condition: string | undefined, otherwise = true) =>
    wired(
      {
        decide: () => ({ ...(condition !== undefined && { condition }) }),
        yes: tells('yes'),
        no: tells('no'),
        other: tells('other'),
      },
      [
        ['start', 'decide'],
        ['decide', 'yes', { when: 'yes' }],
        ['decide', 'no', { when: 'no' }],
        otherwise ? ['decide', 'other', { otherwise: true }] : ['decide', 'other', { when: 'other' }],
        ['yes', 'end'],
        ['no', 'end'],
        ['other', 'end'],
      ],
    )

  test.each([
    ['yes', 'yes'],
    ['no', 'no'],
    ['maybe', 'other'],
    ['', 'other'],
    ['__proto__', 'other'],
    [undefined, 'other'],
  ])('routes the condition %j to the node %s', async (condition, output) => {
    expect(await (await WorkflowTestRun.start(branching(condition))).result()).toMatchObject({
      status: 'completed',
      output,
    })
  })

  test.each([['maybe'], ['constructor'], [undefined]])('fails if no edge matches the condition %j', async condition => {
    const testRun = await WorkflowTestRun.start(branching(condition, false))
    const { status, error } = await testRun.result()
    expect([status, error?.code]).toEqual(['failed', 'workflow_no_way'])
    expect(error?.message).toContain('decide')
    expect(error?.message).toContain(condition ?? 'no condition')
    await testRun.log()
  })

  test('uses only the condition of the current node', async () => {
    const testWorkflow = wired(
      {
        first: () => ({ condition: 'special' }),
        second: pass,
        special: tells('special'),
        plain: tells('plain'),
      },
      [
        ['start', 'first'],
        ['first', 'second', { when: 'special' }],
        ['second', 'special', { when: 'special' }],
        ['second', 'plain', { otherwise: true }],
        ['special', 'end'],
        ['plain', 'end'],
      ],
    )
    expect(await (await WorkflowTestRun.start(testWorkflow)).result()).toMatchObject({ output: 'plain' })
  })
})

describe('loops', () => {
  const looping = (times: number, max: number | undefined, more: object = {}) =>
    wired(
      {
        work: () => {
          const [count, set] = useNodeState(1)
          set(count + 1)
          return { data: count, condition: count < times ? 'more' : 'done' }
        },
      },
      [
        ['start', 'work'],
        ['work', 'work', { when: 'more', ...(max !== undefined && { max }) }],
        ['work', 'end', { when: 'done' }],
      ],
      more,
    )

  test('takes an edge at most max times', async () => {
    expect(await (await WorkflowTestRun.start(looping(4, 3))).result()).toMatchObject({
      status: 'completed',
      output: 4,
    })
    const { status, error } = await (await WorkflowTestRun.start(looping(5, 3))).result()
    expect([status, error?.code]).toEqual(['failed', 'workflow_loop'])
    expect(error?.message).toContain('work')
  })

  test('executes at most maxSteps nodes', async () => {
    expect(await (await WorkflowTestRun.start(looping(10, undefined, { maxSteps: 10 }))).result()).toMatchObject({
      output: 10,
    })
    const over = await WorkflowTestRun.start(looping(11, undefined, { maxSteps: 10 }))
    expect(await over.result()).toMatchObject({ status: 'failed', error: { code: 'budget_steps' } })
    await over.log()
  })

  test('counts steps across transitions', async () => {
    const ping = single(() => ({ transitionTo: 'pong' }), { id: 'ping', maxSteps: 20 })
    const pong = single(() => ({ transitionTo: 'ping' }), { id: 'pong', maxSteps: 20 })
    const testRun = await WorkflowTestRun.start(ping, { workflows: [pong] })
    expect(await testRun.result()).toMatchObject({ status: 'failed', error: { code: 'budget_steps' } })
    expect(chunksOf(await testRun.log(), 'transition')).toHaveLength(20)
  })

  test('keeps the limit across pauses and processes', async () => {
    const testWorkflow = wired(
      {
        work: async () => ({ condition: await useInterrupt(textInterrupt('More?', { id: 'q' })) }),
      },
      [
        ['start', 'work'],
        ['work', 'work', { when: 'more', max: 2 }],
        ['work', 'end', { when: 'done' }],
      ],
    )
    const testRun = await WorkflowTestRun.start(testWorkflow)
    for (const n of [1, 2, 3]) {
      expect(await testRun.questionIds()).toEqual([`1.work.${n}/useInterrupt:q.1`])
      await testRun.restart()
      await testRun.answer(`1.work.${n}/useInterrupt:q.1`, 'more')
    }
    expect(await testRun.result()).toMatchObject({ status: 'failed', error: { code: 'workflow_loop' } })
  })
})

describe.each(STORES)('transitions, %s', (_, opening) => {
  const next = single(({ input, step }: NodeContext) => ({ data: { input, step } }), {
    id: 'next',
    inputSchema: z.object({ n: z.number(), note: z.string().default('none') }),
  })

  test('passes the payload to the other workflow, parsed by its schema, and ends the first', async () => {
    let after = 0
    const testWorkflow = sequence({
      first: () => ({ data: { n: 1 }, transitionTo: 'next' }),
      second: () => void after++,
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening(), workflows: [next] })
    expect(await testRun.result()).toMatchObject({
      status: 'completed',
      output: { input: { n: 1, note: 'none' }, step: 2 },
    })
    expect(after).toBe(0)
    const log = await testRun.log()
    // The payload is private. Readers see only the target.
    expect(chunksOf(log, 'transition')).toEqual([{ type: 'transition', transitionTo: 'next' }])
    expect(chunksOf(log, 'run-finished')).toHaveLength(1)
  })

  test.each([[{ n: 'one' }], [{}], ['text'], [null]])(
    'rejects a payload that does not match the schema: %o',
    async data => {
      const testWorkflow = single(() => ({ data, transitionTo: 'next' }))
      const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening(), workflows: [next] })
      const { status, error } = await testRun.result()
      expect([status, error?.code]).toEqual(['failed', 'workflow_input_invalid'])
      expect(error?.message).toContain('next')
      await testRun.log()
    },
  )

  test('works after a pause, in another process', async () => {
    const testWorkflow = single(async () => {
      const answer = await useInterrupt(textInterrupt('How many?', { id: 'q' }))
      return { data: { n: Number(answer) }, transitionTo: 'next' }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening(), workflows: [next] })
    await testRun.result()
    await testRun.restart()
    await testRun.answer('1.node.1/useInterrupt:q.1', '7')
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: { input: { n: 7 } } })
  })

  test('supports a pause in the second workflow with names of its own', async () => {
    const asking = sequence(
      {
        node: async ({ input }: NodeContext<string>) => {
          const answer = await useInterrupt(textInterrupt('Second?', { id: 'q' }))
          return { data: `${input} ${answer} ${useWorkflowState<string>('k')[0]}` }
        },
      },
      { id: 'asking' },
    )
    const testWorkflow = single(async () => {
      useWorkflowState<string>('k')[1]('kept')
      return { data: await useInterrupt(textInterrupt('First?', { id: 'q' })), transitionTo: 'asking' }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening(), workflows: [asking] })
    await testRun.result()
    await testRun.answer('1.node.1/useInterrupt:q.1', 'one')
    expect(await testRun.questionIds()).toEqual(['2.node.1/useInterrupt:q.1'])
    await testRun.restart()
    await testRun.answer('2.node.1/useInterrupt:q.1', 'two')
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'one two kept' })
    await testRun.log()
  })

  test('rejects an unknown workflow', async () => {
    let ran = 0
    const other = single(() => void ran++, { id: 'general-chat' })
    const testWorkflow = single(() => ({ transitionTo: 'nowhere' }))
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening(), workflows: [other] })
    const { status, error } = await testRun.result()
    expect([status, error?.code, ran]).toEqual(['failed', 'workflow_no_way', 0])
    expect(error?.message).toContain('nowhere')
    for (const workflow of ['nowhere', '']) {
      expect(await codeOf(testRun.runtime.start({ workflow, input: 'x', session: 'x' }))).toBe('program_unknown')
    }
    expect(ran).toBe(0)
  })
})

test('rejects a transition in a branch', async () => {
  const next = single(pass, { id: 'next' })
  const testWorkflow = wired({ fork: pass, a: () => ({ transitionTo: 'next' }), b: pass, join: pass }, [
    ['start', 'fork'],
    ['fork', ['a', 'b'], { join: 'join' }],
    ['a', 'join'],
    ['b', 'join'],
    ['join', 'end'],
  ])
  const testRun = await WorkflowTestRun.start(testWorkflow, { workflows: [next] })
  const { status, error } = await testRun.result()
  expect([status, error?.code]).toEqual(['failed', 'workflow_no_way'])
  expect(error?.message).toContain('join first')
  expect(chunksOf(await testRun.log(), 'transition')).toEqual([])
})

describe('the input of a workflow', () => {
  test('is the text of the request, or its data with an inputSchema', async () => {
    const text = single(({ input }: NodeContext) => ({ data: { input } }))
    expect((await (await WorkflowTestRun.start(text)).result()).output).toEqual({ input: 'Go.' })
    const typed = single(({ input }: NodeContext) => ({ data: { input } }), {
      inputSchema: z.object({ n: z.number().default(1), at: z.string().transform(at => new Date(at)) }),
    })
    const testRun = await WorkflowTestRun.start(typed, { start: { data: { at: '1970-01-01' } } })
    expect((await testRun.result()).output).toEqual({ input: { n: 1, at: '1970-01-01T00:00:00.000Z' } })
  })

  test('data next to text is available to nodes, but is not their input', async () => {
    const testWorkflow = single(({ input, data }: NodeContext) => ({ data: { input, data } }))
    const testRun = await WorkflowTestRun.start(testWorkflow, { start: { data: { n: 1 } } })
    expect((await testRun.result()).output).toEqual({ input: 'Go.', data: { n: 1 } })
  })

  test('is rejected before any node runs if it does not match the schema', async () => {
    let ran = 0
    const typed = single(() => void ran++, { inputSchema: z.object({ n: z.number() }) })
    for (const start of [{ data: { n: 'x' } }, {}]) {
      const testRun = await WorkflowTestRun.start(typed, { start })
      expect(await testRun.result()).toMatchObject({ status: 'failed', error: { code: 'workflow_input_invalid' } })
    }
    expect(ran).toBe(0)
  })
})

test('writes session, status and transition at the right time', async () => {
  const next = single({ run: tells('end'), title: 'The end' }, { id: 'next' })
  const testWorkflow = sequence({
    first: { run: pass, title: 'Getting ready' },
    second: () => ({ data: 'x', transitionTo: 'next' }),
  })
  const testRun = await WorkflowTestRun.start(testWorkflow, { workflows: [next] })
  await testRun.result()
  const texts = (await testRun.log()).flatMap(({ chunk, origin }) => {
    const node = 'node' in origin ? origin.node : undefined
    if (chunk.type === 'session') return [`session ${chunk.sessionId}`]
    if (chunk.type === 'status') return [`status ${node}: ${chunk.message}`]
    return chunk.type === 'transition' ? [`transition ${node}: ${chunk.transitionTo}`] : []
  })
  expect(texts).toEqual([
    'session s',
    'status first: Getting ready',
    'status second: second',
    'transition second: next',
    'status node: The end',
  ])
})
