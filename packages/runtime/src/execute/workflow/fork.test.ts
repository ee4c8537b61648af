// Branches of a workflow: in parallel, each on its own lane, until their join.

import { describe, expect, test } from 'vitest'
import { gate } from '../../api/test-runtime.fixture.ts'
import type { NodeContext, NodeDefinition, NodeFunction } from '../../define/node.ts'
import { chunksOf } from '../agent/run-to-end.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useNodeState, useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { useStructuredData } from '../hooks/use-structured-data.ts'
import { STORES, textInterrupt, WorkflowTestRun, wired } from './workflow-test-run.fixture.ts'

const pass: NodeFunction = () => {}
const gathers: NodeFunction = ({ input }: NodeContext) => ({ data: input })

/** A fork with branches of one node each. */
const forked = (
  branches: Readonly<Record<string, NodeDefinition>>,
  join: NodeDefinition = gathers,
  more: object = {},
) =>
  wired(
    { fork: ({ input }: NodeContext) => ({ data: input }), ...branches, join },
    [
      ['start', 'fork'],
      ['fork', Object.keys(branches), { join: 'join' }],
      ...Object.keys(branches).map(name => [name, 'join']),
      ['join', 'end'],
    ],
    more,
  )

describe('data', () => {
  test('passes the result of each branch to the join, by its first node', async () => {
    const testWorkflow = forked({
      a: ({ input }: NodeContext) => ({ data: `a of ${input}` }),
      b: () => ({ data: { n: 2 } }),
      c: pass,
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    const output = { a: 'a of Go.', b: { n: 2 }, c: 'Go.' }
    expect(await testRun.result()).toMatchObject({ status: 'completed', output })
    await testRun.log()
  })

  test('runs branches in parallel', async () => {
    const [first, second] = [gate(), gate()]
    const testWorkflow = forked({
      a: async () => {
        first.open()
        await second.opened
      },
      b: async () => {
        await first.opened
        second.open()
      },
    })
    expect(await (await WorkflowTestRun.start(testWorkflow)).result()).toMatchObject({ status: 'completed' })
  })

  test('runs branches with several nodes, conditions and loops', async () => {
    const testWorkflow = wired(
      {
        fork: pass,
        a: () => ({ data: 0 }),
        more: ({ input }: NodeContext<number>) => ({ data: input + 1, condition: input < 3 ? 'more' : 'done' }),
        b: () => ({ condition: 'short' }),
        long: () => ({ data: 'long' }),
        short: () => ({ data: 'short' }),
        join: gathers,
      },
      [
        ['start', 'fork'],
        ['fork', ['a', 'b'], { join: 'join' }],
        ['a', 'more'],
        ['more', 'more', { when: 'more' }],
        ['more', 'join', { when: 'done' }],
        ['b', 'long', { when: 'long' }],
        ['b', 'short', { when: 'short' }],
        ['long', 'join'],
        ['short', 'join'],
        ['join', 'end'],
      ],
    )
    expect(await (await WorkflowTestRun.start(testWorkflow)).result()).toMatchObject({ output: { a: 4, b: 'short' } })
  })

  test('supports nested forks', async () => {
    const testWorkflow = wired(
      {
        fork: pass,
        a: pass,
        a1: () => ({ data: 'a1' }),
        a2: () => ({ data: 'a2' }),
        aJoin: gathers,
        b: () => ({ data: 'b' }),
        join: gathers,
      },
      [
        ['start', 'fork'],
        ['fork', ['a', 'b'], { join: 'join' }],
        ['a', ['a1', 'a2'], { join: 'aJoin' }],
        ['a1', 'aJoin'],
        ['a2', 'aJoin'],
        ['aJoin', 'join'],
        ['b', 'join'],
        ['join', 'end'],
      ],
    )
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await testRun.result()).toMatchObject({ output: { a: { a1: 'a1', a2: 'a2' }, b: 'b' } })
    await testRun.log()
  })

  test('restarts a fork that the run enters again', async () => {
    const testWorkflow = wired(
      {
        fork: pass,
        a: () => {
          const [count, set] = useNodeState(1)
          set(count + 1)
          return { data: count }
        },
        b: () => ({ data: 'b' }),
        join: ({ input }: NodeContext<{ a: number }>) => ({ data: input, condition: input.a < 3 ? 'more' : 'done' }),
      },
      [
        ['start', 'fork'],
        ['fork', ['a', 'b'], { join: 'join' }],
        ['a', 'join'],
        ['b', 'join'],
        ['join', 'fork', { when: 'more' }],
        ['join', 'end', { when: 'done' }],
      ],
    )
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: { a: 3, b: 'b' } })
    const lanes = new Set((await testRun.log()).flatMap(({ origin }) => ('lane' in origin ? [origin.lane] : [])))
    // Two branches, three times: one lane each.
    expect([...lanes].filter(lane => lane?.includes('fork.'))).toHaveLength(6)
  })
})

describe.each(STORES)('failures, %s', (_, opening) => {
  test('retries one branch while the other continues, without repeating work', async () => {
    const done: string[] = []
    let tries = 0
    const testWorkflow = forked({
      a: {
        retry: { attempts: 3 },
        run: async () => {
          await useStep('a', () => void done.push('a'))
          useStructuredData({ streamId: 'a', data: ++tries })
          if (tries < 3) throw new Error('not yet')
          return { data: `a after ${tries}` }
        },
      },
      b: async () => {
        useStructuredData({ streamId: 'b', kind: 'append', path: 'l', items: [1] })
        const answer = await useInterrupt(textInterrupt('In b?', { id: 'q' }))
        useStructuredData({ streamId: 'b', kind: 'append', path: 'l', items: [2] })
        await useStep('b', () => void done.push('b'))
        return { data: `b with ${answer}` }
      },
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    expect(await testRun.questionIds()).toEqual(['1.b.1/useInterrupt:q.1'])
    await testRun.restart()
    await testRun.answer('1.b.1/useInterrupt:q.1', 'yes')
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: { a: 'a after 3', b: 'b with yes' } })
    expect(done).toEqual(['a', 'b'])
    const shown = Object.fromEntries((await testRun.view()).structured.map(({ streamId, data }) => [streamId, data]))
    expect(shown).toEqual({ a: 3, b: { l: [1, 2] } })
    await testRun.log()
  })

  test('fails the run if one branch finally fails, even if others wait', async () => {
    const questionAsked = gate()
    let after = 0
    const testWorkflow = forked(
      {
        a: async () => {
          await questionAsked.opened
          throw new Error('no')
        },
        b: async () => {
          const question = useInterrupt(textInterrupt('In b?', { id: 'q' }))
          await useStep('asked', () => questionAsked.open())
          await question
          after++
        },
      },
      () => void after++,
    )
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    expect(await testRun.result()).toMatchObject({ status: 'failed', error: { code: 'workflow_node_failed' } })
    expect(await testRun.answerError('1.b.1/useInterrupt:q.1', 'yes')).toBe('answer_already_settled')
    expect(after).toBe(0)
    expect((await testRun.view()).pendings).toEqual([])
    await testRun.log()
  })

  test('continues or routes a failed branch within the branch', async () => {
    const fails = () => {
      throw new Error('no')
    }
    const testWorkflow = wired(
      {
        fork: pass,
        a: { run: fails, onError: { continue: 'instead' } },
        b: { run: fails, onError: { route: 'mend' } },
        mend: ({ input }: NodeContext<{ node: string }>) => ({ data: `mended ${input.node}` }),
        join: gathers,
      },
      [
        ['start', 'fork'],
        ['fork', ['a', 'b'], { join: 'join' }],
        ['a', 'join'],
        ['b', 'join'],
        ['mend', 'join'],
        ['join', 'end'],
      ],
    )
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    expect(await testRun.result()).toMatchObject({ output: { a: 'instead', b: 'mended b' } })
  })
})

describe.each(STORES)('waiting, %s', (_, opening) => {
  test('continues a branch when it is answered while others wait', async () => {
    const seen: string[] = []
    const asks =
      (name: string): NodeFunction =>
      async () => {
        const one = await useInterrupt(textInterrupt(`${name} one?`, { id: 'q' }))
        await useStep('note', () => void seen.push(`${name} ${one}`))
        const two = await useInterrupt(textInterrupt(`${name} two?`, { id: 'q' }))
        return { data: `${one} ${two}` }
      }
    const testWorkflow = forked({ a: asks('a'), b: asks('b'), c: () => ({ data: 'c' }) })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    expect(await testRun.questionIds()).toEqual(['1.a.1/useInterrupt:q.1', '1.b.1/useInterrupt:q.1'])
    await testRun.answer('1.b.1/useInterrupt:q.1', 'B1')
    expect(await testRun.questionIds()).toEqual(['1.a.1/useInterrupt:q.1', '1.b.1/useInterrupt:q.2'])
    expect(seen).toEqual(['b B1'])
    await testRun.restart()
    await testRun.answer('1.b.1/useInterrupt:q.2', 'B2')
    expect(await testRun.questionIds()).toEqual(['1.a.1/useInterrupt:q.1'])
    await testRun.answer('1.a.1/useInterrupt:q.1', 'A1')
    expect(await testRun.questionIds()).toEqual(['1.a.1/useInterrupt:q.2'])
    await testRun.answer('1.a.1/useInterrupt:q.2', 'A2')
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: { a: 'A1 A2', b: 'B1 B2', c: 'c' } })
    expect(seen).toEqual(['b B1', 'a A1'])
    expect(chunksOf(await testRun.log(), 'interrupt')).toHaveLength(4)
  })

  test('continues a branch while another runs', async () => {
    const [working, goOn] = [gate(), gate()]
    const testWorkflow = forked({
      a: async () => {
        await useStep('long', async () => {
          working.open()
          await goOn.opened
        })
        return { data: 'a' }
      },
      b: async () => {
        const answer = await useInterrupt(textInterrupt('In b?', { id: 'q' }))
        // The other branch continues only after this one is answered.
        goOn.open()
        return { data: answer }
      },
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await working.opened
    for await (const { chunk } of testRun.run.stream()) if (chunk.type === 'interrupt') break
    await testRun.answer('1.b.1/useInterrupt:q.1', 'yes')
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: { a: 'a', b: 'yes' } })
    expect(chunksOf(await testRun.log(), 'run-paused')).toEqual([])
  })

  test('answers nested waiting branches in different processes', async () => {
    const asks =
      (name: string): NodeFunction =>
      async () => ({ data: await useInterrupt(textInterrupt(`${name}?`, { id: 'q' })) })
    const testWorkflow = wired(
      { fork: pass, a: pass, a1: asks('a1'), a2: asks('a2'), aJoin: gathers, b: asks('b'), join: gathers },
      [
        ['start', 'fork'],
        ['fork', ['a', 'b'], { join: 'join' }],
        ['a', ['a1', 'a2'], { join: 'aJoin' }],
        ['a1', 'aJoin'],
        ['a2', 'aJoin'],
        ['aJoin', 'join'],
        ['b', 'join'],
        ['join', 'end'],
      ],
    )
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    let left = ['a1', 'a2', 'b']
    for (const name of ['a2', 'b', 'a1']) {
      expect(await testRun.questionIds()).toEqual(left.map(other => `1.${other}.1/useInterrupt:q.1`))
      await testRun.restart()
      await testRun.answer(`1.${name}.1/useInterrupt:q.1`, name.toUpperCase())
      left = left.filter(other => other !== name)
    }
    expect(await testRun.result()).toMatchObject({ output: { a: { a1: 'A1', a2: 'A2' }, b: 'B' } })
    await testRun.log()
  })

  test('shows committed state of other branches, and replays earlier reads', async () => {
    const seen: unknown[] = []
    const testWorkflow = forked({
      a: async () => {
        const [before] = useWorkflowState('n', 0)
        await useInterrupt(textInterrupt('In a?', { id: 'q' }))
        const [after] = useWorkflowState('n', 0)
        seen.push([before, after])
        await useInterrupt(textInterrupt('Again?', { id: 'q' }))
      },
      b: async () => {
        await useInterrupt(textInterrupt('In b?', { id: 'q' }))
        useWorkflowState('n', 0)[1](7)
        await useStep('commits', () => 1)
        await useInterrupt(textInterrupt('Again?', { id: 'q' }))
        useWorkflowState('n', 0)[1](8)
      },
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await testRun.result()
    await testRun.answer('1.b.1/useInterrupt:q.1', 'yes')
    await testRun.result()
    await testRun.answer('1.a.1/useInterrupt:q.1', 'yes')
    await testRun.result()
    await testRun.answer('1.b.1/useInterrupt:q.2', 'yes')
    await testRun.result()
    await testRun.restart()
    await testRun.answer('1.a.1/useInterrupt:q.2', 'yes')
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    expect(seen.length).toBeGreaterThanOrEqual(3)
    expect(new Set(seen.map(pair => JSON.stringify(pair)))).toEqual(new Set(['[0,7]']))
  })

  test('stops all branches', async () => {
    const [working, over] = [gate(), gate()]
    const testWorkflow = forked({
      a: async () => {
        await useStep('long', async ({ abortSignal }) => {
          abortSignal.addEventListener('abort', over.open)
          working.open()
          await over.opened
        })
      },
      b: async () => void (await useInterrupt(textInterrupt('In b?', { id: 'q' }))),
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await working.opened
    await testRun.run.stop({ mode: 'abort' })
    expect(await testRun.result()).toMatchObject({ status: 'aborted' })
    await over.opened
    expect((await testRun.view()).pendings).toEqual([])
    await testRun.log()
  })
})
