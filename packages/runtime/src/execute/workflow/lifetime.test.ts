// How long records of a workflow are kept, and what its nodes see of a session.

import { describe, expect, test } from 'vitest'
import { logOf, until } from '../../api/test-runtime.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useNodeState, useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { useStructuredData } from '../hooks/use-structured-data.ts'
import { STORES, sequence, single, textInterrupt, WorkflowTestRun, wired } from './workflow-test-run.fixture.ts'

/** The hook records in the log that a replay would use. */
const hooksIn = async ({ runtime }: WorkflowTestRun, session = 's') =>
  (await runtime.manager.view(session)).view.internal?.hooks ?? []

describe.each(STORES)('records, %s', (_, opening) => {
  test('keeps the records of open nodes while a run waits, and none after its end', async () => {
    const testWorkflow = sequence({
      first: async () => {
        for (let n = 0; n < 20; n++) await useStep(`step ${n}`, () => n)
      },
      second: async () => {
        await useStep('one', () => 1)
        await useInterrupt(textInterrupt('Well?', { id: 'q' }))
      },
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await testRun.result()
    const ids = (await hooksIn(testRun)).map(({ hookId }) => hookId)
    expect(ids).toContain('1.second.1/useStep:one.1')
    expect(ids.filter(id => id.startsWith('1.first.1/'))).toEqual([])
    await testRun.answer('1.second.1/useInterrupt:q.1', 'yes')
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    expect(await hooksIn(testRun)).toEqual([])
  })

  test.each(['interrupt', 'abort'] as const)('keeps no records of a stopped run: %s', async mode => {
    const testWorkflow = single(async () => {
      await useStep('one', () => 1)
      await useInterrupt(textInterrupt('Well?', { id: 'q' }))
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await testRun.result()
    await testRun.run.stop({ mode })
    expect((await testRun.result()).status).toBe(mode === 'abort' ? 'aborted' : 'interrupted')
    expect(await hooksIn(testRun)).toEqual([])
  })
})

test('keeps no more records in a long run than in a short one', async () => {
  const counts: number[] = []
  const looping = (times: number) =>
    wired(
      {
        work: async () => {
          const [n, set] = useNodeState(1)
          set(n + 1)
          await useStep('one', () => n)
          await useStep('two', () => n)
          return { condition: n < times ? 'more' : 'ask' }
        },
        ask: async () => void (await useInterrupt(textInterrupt('Well?', { id: 'q' }))),
      },
      [
        ['start', 'work'],
        ['work', 'work', { when: 'more' }],
        ['work', 'ask', { when: 'ask' }],
        ['ask', 'end'],
      ],
      { maxSteps: 1000 },
    )
  for (const times of [2, 100]) {
    const testRun = await WorkflowTestRun.start(looping(times))
    await testRun.result()
    counts.push((await hooksIn(testRun)).length)
  }
  expect(counts[0]).toBeGreaterThan(0)
  expect(counts[1]).toBeLessThanOrEqual((counts[0] as number) + 1)
})

describe('the conversation', () => {
  test('contains each message up to the run once, after any number of runs', async () => {
    const testWorkflow = single(({ input, messages }: NodeContext<string>) => ({
      ui: { message: `You said ${input}` },
      data: messages.map(
        ({ role, parts }) => `${role}: ${parts.map(part => ('text' in part ? part.text : '')).join('')}`,
      ),
    }))
    const testRun = await WorkflowTestRun.start(testWorkflow, { start: { input: 'one' } })
    const expectedTexts = ['user: one']
    expect((await testRun.result()).output).toEqual(expectedTexts)
    for (const input of ['two', 'three']) {
      expectedTexts.push(`assistant: You said ${expectedTexts.at(-1)?.slice('user: '.length)}`, `user: ${input}`)
      const run = await testRun.runtime.start({ workflow: testWorkflow, input, session: 's' })
      expect((await run.result()).output).toEqual(expectedTexts)
    }
    const { messages } = await testRun.view()
    expect(messages).toHaveLength(6)
  })

  test('does not grow while a run restarts its nodes', async () => {
    const seen: number[] = []
    const testWorkflow = single(async ({ messages }: NodeContext) => {
      seen.push(messages.length)
      for (const n of [1, 2]) await useInterrupt(textInterrupt(`${n}?`))
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    for (const n of [1, 2]) {
      await testRun.result()
      await testRun.answer(`1.node.1/@.${n}`, 'yes')
    }
    await testRun.result()
    expect(seen).toEqual([1, 1, 1])
  })

  test('shows the usage of the run to its nodes, and replays it', async () => {
    const model = scriptedModel(() => ({ text: 'Hello.', usage: { input: 3, output: 2 } }))
    const seen: unknown[] = []
    const testWorkflow = sequence({
      first: async () => void (await useReason({ model, input: 'Go.' })),
      second: async ({ tokenUsage }: NodeContext) => {
        seen.push(tokenUsage)
        await useReason({ model, input: 'Go.' })
        await useInterrupt(textInterrupt('Well?', { id: 'q' }))
      },
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    await testRun.answer('1.second.1/useInterrupt:q.1', 'yes')
    const { usage } = await testRun.result()
    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
    expect(seen[0]).toMatchObject({ inputTokens: 3, outputTokens: 2 })
    expect(usage).toMatchObject({ inputTokens: 6, outputTokens: 4 })
  })
})

describe('sessions', () => {
  test('creates a session for a run without one', async () => {
    const testWorkflow = single(() => {
      const [n, set] = useWorkflowState('n', 0)
      set(n + 1)
      return { data: n }
    })
    const { runtime } = await WorkflowTestRun.start(testWorkflow)
    const runs = await Promise.all(['a', 'b', 'c'].map(input => runtime.start({ workflow: testWorkflow, input })))
    expect(new Set(runs.map(({ sessionId }) => sessionId)).size).toBe(3)
    expect(await Promise.all(runs.map(async run => (await run.result()).output))).toEqual([0, 0, 0])
  })

  test('a fork of a session shows its content, and its interrupt cannot be answered', async () => {
    const testWorkflow = sequence({
      first: async () => {
        await useStructuredData({ streamId: 'o', kind: 'set', path: 'a', value: 1 })
        return { ui: { message: 'First.' } }
      },
      second: async () => void (await useInterrupt(textInterrupt('Well?', { id: 'q' }))),
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    const fork = await testRun.runtime.fork('s', { session: 'f' })
    const { view } = await testRun.runtime.view(fork)
    expect(view.structured).toMatchObject([{ streamId: 'o', data: { a: 1 } }])
    expect(view.messages.flatMap(({ parts }) => parts.map(part => ('text' in part ? part.text : '')))).toContain(
      'First.',
    )
    expect(view.pendings).toEqual([])
    expect(await testRun.questionIds()).toEqual(['1.second.1/useInterrupt:q.1'])
    await testRun.answer('1.second.1/useInterrupt:q.1', 'yes')
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    expect((await logOf(testRun.runtime, 'f')).some(({ chunk }) => chunk.type === 'interrupt-response')).toBe(false)
  })

  test('a retried turn leaves nothing of the first behind', async () => {
    let runs = 0
    const testWorkflow = sequence({
      first: () => {
        const [n, set] = useWorkflowState('n', 0)
        set(n + 1)
        useStructuredData({ streamId: 'o', kind: 'append', path: 'l', items: [++runs] })
        return { data: n, ui: { message: `Run ${runs}.` } }
      },
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    const again = await testRun.runtime.retry('s')
    expect(await again.result()).toMatchObject({ status: 'completed', output: 0, text: 'Run 2.' })
    const { structured, messages } = await testRun.view()
    expect(structured).toMatchObject([{ data: { l: [2] } }])
    expect(messages).toHaveLength(2)
  })

  test('a returning reader gets each entry once', async () => {
    const testWorkflow = single(async () => {
      for (const n of [1, 2, 3]) {
        await useStructuredData({ streamId: 'o', kind: 'append', path: 'l', items: [n] })
        await useStep(`${n}`, () => n)
      }
      await useInterrupt(textInterrupt('Well?', { id: 'q' }))
      return { ui: { message: 'Done.' } }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    const { cursor } = await until(testRun.run, 'structured-data')
    await testRun.result()
    await testRun.answer('1.node.1/useInterrupt:q.1', 'yes')
    await testRun.result()
    const all: number[] = []
    const rest: number[] = []
    for await (const { sequence } of testRun.run.stream()) all.push(sequence)
    for await (const { sequence } of testRun.run.stream({ after: cursor })) rest.push(sequence)
    expect(new Set(all).size).toBe(all.length)
    expect(all.slice(-rest.length)).toEqual(rest)
    expect(all.length - rest.length).toBeGreaterThan(0)
  })
})
