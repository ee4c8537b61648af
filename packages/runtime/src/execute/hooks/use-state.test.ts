import type { Json } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import type { NodeContext, NodeDefinition } from '../../define/node.ts'
import { MAX_STATE_VALUE } from '../replay/state.ts'
import {
  STORES,
  sequence,
  single,
  textInterrupt,
  WorkflowTestRun,
  wired,
} from '../workflow/workflow-test-run.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useNodeState, useWorkflowState } from './use-state.ts'
import { useStep } from './use-step.ts'

/** Runs to the end and returns the output. */
async function outputOf(
  testWorkflow: ReturnType<typeof single>,
  options: Parameters<typeof WorkflowTestRun.start>[1] = {},
) {
  const testRun = await WorkflowTestRun.start(testWorkflow, options)
  const { status, output, error } = await testRun.result()
  await testRun.log()
  return error ? error.code : status === 'completed' ? output : status
}

/** A node that returns a key of the state. */
const reads =
  (key: string): NodeDefinition =>
  () => ({ data: { value: useWorkflowState<Json>(key)[0] ?? 'nothing' } })

describe('workflow state', () => {
  test('replaces a value completely', async () => {
    const testWorkflow = sequence({
      first: () => useWorkflowState<Json>('k')[1]({ x: 1, y: 2, deep: { a: 1 } }),
      second: () => useWorkflowState<Json>('k')[1]({ x: 1, deep: { b: 2 } }),
      third: reads('k'),
    })
    expect(await outputOf(testWorkflow)).toEqual({ value: { x: 1, deep: { b: 2 } } })
  })

  test('removes a key by value and by function', async () => {
    for (const unset of [undefined, () => undefined]) {
      const testWorkflow = sequence({
        first: () => useWorkflowState<Json>('k')[1]({ x: 1 }),
        second: () => useWorkflowState<Json>('k')[1](unset),
        third: reads('k'),
      })
      expect(await outputOf(testWorkflow)).toEqual({ value: 'nothing' })
    }
  })

  test("treats null, false, 0 and '' as values", async () => {
    for (const value of [null, false, 0, '', []]) {
      const testWorkflow = sequence({
        first: () => useWorkflowState<Json>('k', 'initial')[1](value),
        second: () => ({ data: { value: useWorkflowState<Json>('k', 'initial')[0] } }),
      })
      expect(await outputOf(testWorkflow)).toEqual({ value })
    }
  })

  test('supports keys that objects inherit', async () => {
    const testWorkflow = sequence({
      first: () => {
        for (const key of ['__proto__', 'constructor', 'toString', 'a/b', 'ä']) useWorkflowState<string>(key)[1](key)
      },
      second: async () => {
        await useStep('a commit between', () => 1)
        const keys = ['__proto__', 'constructor', 'toString', 'a/b', 'ä', 'hasOwnProperty']
        return { data: keys.map(key => useWorkflowState<string>(key)[0] ?? 'nothing') }
      },
    })
    expect(await outputOf(testWorkflow)).toEqual(['__proto__', 'constructor', 'toString', 'a/b', 'ä', 'nothing'])
  })

  test('returns the value at the time of the call', async () => {
    const testWorkflow = single(() => {
      const [before, set] = useWorkflowState('k', 1)
      set(2)
      set((value = 0) => value * 10)
      const [after] = useWorkflowState<number>('k')
      return { data: [before, after ?? -1] }
    })
    expect(await outputOf(testWorkflow)).toEqual([1, 20])
  })

  test('returns and stores copies', async () => {
    const testWorkflow = sequence({
      first: () => {
        const returned = { list: [1] }
        const [value, set] = useWorkflowState('k', { list: [0] })
        set(returned)
        returned.list.push(2)
        value.list.push(9)
        useWorkflowState<{ list: number[] }>('k')[0]?.list.push(3)
      },
      second: reads('k'),
    })
    expect(await outputOf(testWorkflow)).toEqual({ value: { list: [1] } })
  })

  test.each<[string, unknown]>([
    ['a cycle', holding()],
    ['a big integer', 1n],
    ['a symbol', Symbol('s')],
    ['NaN', Number.NaN],
    ['a map', new Map([['a', 1]])],
    ['a nested set', { tags: new Set(['a']) }],
    ['a nested function', { deep: [() => 1] }],
    ['a nested infinity', [Number.POSITIVE_INFINITY]],
    ['an array with a hole', [undefined, 1]],
  ])('fails the node that sets %s', async (_, value) => {
    for (const update of [value, () => value]) {
      expect(await outputOf(single(() => useWorkflowState<unknown>('k')[1](update)))).toBe('validation_failed')
      expect(await outputOf(single(() => useNodeState<unknown>()[1](update)))).toBe('validation_failed')
    }
    expect(await outputOf(single(() => void useNodeState<unknown>(value)))).toBe('validation_failed')
    expect(await outputOf(single(() => useWorkflowState<unknown>('k')[1](() => () => 1)))).toBe('validation_failed')
  })

  test('limits the size of one value and of all values', async () => {
    const large = 'x'.repeat(MAX_STATE_VALUE - 2)
    const fits = sequence({ first: () => useWorkflowState<string>('k')[1](large), second: () => ({ data: 'fits' }) })
    expect(await outputOf(fits)).toBe('fits')
    expect(await outputOf(single(() => useWorkflowState<string>('k')[1](`${large}x`)))).toBe('workflow_state_too_large')
    const many = sequence({
      first: () => {
        for (let n = 0; n < 17; n++) useWorkflowState<string>(`k${n}`)[1](large)
      },
      second: () => ({ data: 'fits' }),
    })
    expect(await outputOf(many)).toBe('workflow_state_too_large')
  })

  test('frees space when a value is removed', async () => {
    const large = 'x'.repeat(MAX_STATE_VALUE - 100)
    const testWorkflow = wired(
      {
        fill: ({ step }: NodeContext) => {
          if (step > 1) useWorkflowState<string>(`k${step - 1}`)[1](undefined)
          useWorkflowState<string>(`k${step}`)[1](large)
          return { condition: step < 40 ? 'more' : 'done', data: step }
        },
      },
      [
        ['start', 'fill'],
        ['fill', 'fill', { when: 'more' }],
        ['fill', 'end', { when: 'done' }],
      ],
    )
    expect(await outputOf(testWorkflow)).toBe(40)
  })

  test('fails the node if an update throws, so that it can be retried or routed', async () => {
    let tries = 0
    const fails = () => {
      if (++tries < 3) throw new Error('not yet')
      return tries
    }
    const testWorkflow = sequence({
      first: { run: () => useWorkflowState<number>('k')[1](fails), retry: { attempts: 3 } },
      second: reads('k'),
    })
    expect(await outputOf(testWorkflow)).toMatchObject({ value: expect.any(Number) })
    const routed = wired(
      {
        first: {
          run: () =>
            useWorkflowState<number>('k')[1](() => {
              throw new Error('never')
            }),
          onError: { route: 'instead' },
        },
        instead: ({ input }: NodeContext<{ code: string }>) => ({ data: input.code }),
      },
      [
        ['start', 'first'],
        ['first', 'end'],
        ['instead', 'end'],
      ],
    )
    expect(await outputOf(routed)).toBe('workflow_node_failed')
  })

  test('requires a key of 1 to 64 characters', async () => {
    for (const key of ['', 'x'.repeat(65), 5]) {
      expect(await outputOf(single(() => void useWorkflowState(key as string)))).toBe('validation_failed')
    }
  })

  test('starts empty in a new run of the session', async () => {
    const testWorkflow = single(() => {
      const [count, set] = useWorkflowState('n', 0)
      const [nodeCount, setOwn] = useNodeState(0)
      set(count + 1)
      setOwn(nodeCount + 1)
      return { data: [count, nodeCount] }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect((await testRun.result()).output).toEqual([0, 0])
    const second = await testRun.runtime.start({ workflow: testWorkflow, input: 'Again.', session: 's' })
    expect((await second.result()).output).toEqual([0, 0])
  })
})

describe.each(STORES)('state across pauses, %s', (_, opening) => {
  test('is kept across nodes, pauses and processes, and a replayed read returns what was set before the next hook', async () => {
    const seen: unknown[] = []
    const testWorkflow = sequence({
      first: () => useWorkflowState<number>('n')[1](1),
      node: async () => {
        const [before, set] = useWorkflowState<number>('n')
        const [count, setOwn] = useNodeState(10)
        seen.push([before, count])
        set((value = 0) => value + 1)
        setOwn(count + 1)
        const [between] = useWorkflowState<number>('n')
        await useInterrupt(textInterrupt('One?'))
        const [after] = useWorkflowState<number>('n')
        set((value = 0) => value * 10)
        await useInterrupt(textInterrupt('Two?'))
        return { data: [before ?? 0, between ?? 0, after ?? 0, useWorkflowState<number>('n')[0] ?? 0] }
      },
      last: ({ input }: NodeContext<number[]>) => ({ data: [...input, useWorkflowState<number>('n')[0] ?? 0] }),
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    for (const n of [1, 2]) {
      await testRun.result()
      await testRun.restart()
      await testRun.answer(`1.node.1/@.${n}`, 'yes')
    }
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: [2, 2, 20, 20, 20] })
    // Three starts of the node: what it sets after the first question does not change the reads before it.
    expect(seen).toEqual([
      [1, 10],
      [2, 11],
      [2, 11],
    ])
    await testRun.log()
  })

  test('does not confuse a changed copy with the value that was read', async () => {
    const testWorkflow = single(async () => {
      const [list] = useWorkflowState<string[]>('list', [])
      const [nodeList] = useNodeState<string[]>(['own'])
      list.push('mine')
      nodeList.pop()
      await useInterrupt(textInterrupt('One?'))
      return { data: [list, nodeList] }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await testRun.result()
    await testRun.answer('1.node.1/@.1', 'yes')
    expect(await testRun.result()).toMatchObject({ output: [['mine'], []] })
  })

  test('applies each update once on replay', async () => {
    const testWorkflow = sequence({
      node: async () => {
        const [, add] = useWorkflowState('n', 0)
        add((value = 0) => value + 1)
        for (const n of [1, 2, 3]) {
          await useInterrupt(textInterrupt(`${n}?`))
          add((value = 0) => value + 1)
        }
      },
      last: reads('n'),
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    for (const n of [1, 2, 3]) {
      await testRun.result()
      if (n === 2) await testRun.restart()
      await testRun.answer(`1.node.1/@.${n}`, 'yes')
    }
    expect(await testRun.result()).toMatchObject({ output: { value: 4 } })
  })
})

describe('node state', () => {
  const looping = (nodes: Readonly<Record<string, NodeDefinition>>) =>
    wired({ ...nodes, check: ({ step }: NodeContext) => ({ condition: step < 9 ? 'more' : 'done' }) }, [
      ['start', 'a'],
      ['a', 'b'],
      ['b', 'check'],
      ['check', 'a', { when: 'more' }],
      ['check', 'end', { when: 'done' }],
    ])

  test('is kept when the node repeats, also after other nodes', async () => {
    const seen: string[] = []
    const counting = (): NodeDefinition => ({
      run: ({ node }: NodeContext) => {
        const [count, set] = useNodeState(0)
        const [texts, setTexts] = useNodeState<string[]>([])
        seen.push(`${node}${count}${texts.join('')}`)
        set(count + 1)
        setTexts([...texts, node])
      },
    })
    expect(await outputOf(looping({ a: counting(), b: counting() }))).toBeUndefined()
    expect(seen).toEqual(['a0', 'b0', 'a1a', 'b1b', 'a2aa', 'b2bb'])
  })

  test('drops uncommitted changes of a failed attempt', async () => {
    const seen: unknown[] = []
    const testWorkflow = single({
      retry: { attempts: 3 },
      run: async () => {
        const [kept, setKept] = useNodeState(0)
        const [lost, setLost] = useNodeState(0)
        const again = () => [useWorkflowState('kept', 0)[0], useWorkflowState('lost', 0)[0]]
        setKept((value = 0) => value + 1)
        useWorkflowState('kept', 0)[1]((value = 0) => value + 1)
        await useStep('commits', () => 1)
        setLost((value = 0) => value + 1)
        useWorkflowState('lost', 0)[1]((value = 0) => value + 1)
        seen.push([kept, lost, ...again()])
        if (seen.length < 3) throw new Error('not yet')
      },
    })
    expect(await outputOf(testWorkflow)).toBeUndefined()
    expect(seen).toEqual([[0, 0, 1, 1], ...Array(2).fill([1, 0, 1, 1])])
  })

  test('is separate for each node and workflow', async () => {
    const next = sequence({ node: () => ({ data: { value: useNodeState('fresh')[0] } }) }, { id: 'next' })
    const testWorkflow = sequence({
      first: () => useNodeState('x')[1]('of the first'),
      node: () => {
        const [value, set] = useNodeState('fresh')
        set('of the node')
        return { transitionTo: 'next', data: value }
      },
    })
    expect(await outputOf(testWorkflow, { workflows: [next] })).toEqual({ value: 'fresh' })
  })
})

describe('branches', () => {
  test('applies functional updates of all branches in order', async () => {
    const adds: NodeDefinition = async ({ node }: NodeContext) => {
      const [, add] = useWorkflowState('n', 0)
      for (let n = 0; n < 10; n++) {
        add((value = 0) => value + 1)
        await useStep(`commit ${n}`, () => node)
      }
      add((value = 0) => value + 1)
    }
    const testWorkflow = wired({ fork: () => {}, a: adds, b: adds, c: adds, join: reads('n') }, [
      ['start', 'fork'],
      ['fork', ['a', 'b', 'c'], { join: 'join' }],
      ['a', 'join'],
      ['b', 'join'],
      ['c', 'join'],
      ['join', 'end'],
    ])
    expect(await outputOf(testWorkflow)).toEqual({ value: 33 })
  })

  test('keeps changes and reads during the commit of a parallel hook', async () => {
    const testWorkflow = sequence({
      node: async () => {
        const [, add] = useWorkflowState('n', 0)
        const line = async (name: string) => {
          for (let n = 0; n < 20; n++) {
            await useStep(`${name} ${n}`, () => n)
            add((value = 0) => value + 1)
          }
        }
        await Promise.all(['a', 'b', 'c'].map(line))
      },
      last: reads('n'),
    })
    expect(await outputOf(testWorkflow)).toEqual({ value: 60 })
  })
})

function holding(): object {
  const one: { self?: object } = {}
  one.self = one
  return one
}
