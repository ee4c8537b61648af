import type { Json } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import type { NodeContext, NodeDefinition } from '../../define/node.ts'
import { MAX_STATE_VALUE } from '../replay/state.ts'
import { inRow, PLACES, Play, say, single, wired } from '../workflow/play.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useNodeState, useWorkflowState } from './use-state.ts'
import { useStep } from './use-step.ts'

/** Runs to the end, and gives the output. */
async function outputOf(own: ReturnType<typeof single>, options: Parameters<typeof Play.of>[1] = {}) {
  const play = await Play.of(own, options)
  const { status, output, error } = await play.result()
  await play.log()
  return error ? error.code : status === 'completed' ? output : status
}

/** A node that tells what a key of the state is. */
const reads =
  (key: string): NodeDefinition =>
  () => ({ data: { value: useWorkflowState<Json>(key)[0] ?? 'nothing' } })

describe('workflow state', () => {
  test('what is set is what is there: nothing of the old value is left', async () => {
    const own = inRow({
      first: () => useWorkflowState<Json>('k')[1]({ x: 1, y: 2, deep: { a: 1 } }),
      second: () => useWorkflowState<Json>('k')[1]({ x: 1, deep: { b: 2 } }),
      third: reads('k'),
    })
    expect(await outputOf(own)).toEqual({ value: { x: 1, deep: { b: 2 } } })
  })

  test('a key can be taken away, by value and by function', async () => {
    for (const gone of [undefined, () => undefined]) {
      const own = inRow({
        first: () => useWorkflowState<Json>('k')[1]({ x: 1 }),
        second: () => useWorkflowState<Json>('k')[1](gone),
        third: reads('k'),
      })
      expect(await outputOf(own)).toEqual({ value: 'nothing' })
    }
  })

  test('null, false, 0 and empty text are values, and no absence', async () => {
    for (const value of [null, false, 0, '', []]) {
      const own = inRow({
        first: () => useWorkflowState<Json>('k', 'initial')[1](value),
        second: () => ({ data: { value: useWorkflowState<Json>('k', 'initial')[0] } }),
      })
      expect(await outputOf(own)).toEqual({ value })
    }
  })

  test('keys that objects inherit are keys like others', async () => {
    const own = inRow({
      first: () => {
        for (const key of ['__proto__', 'constructor', 'toString', 'a/b', 'ä']) useWorkflowState<string>(key)[1](key)
      },
      second: async () => {
        await useStep('a commit between', () => 1)
        const keys = ['__proto__', 'constructor', 'toString', 'a/b', 'ä', 'hasOwnProperty']
        return { data: keys.map(key => useWorkflowState<string>(key)[0] ?? 'nothing') }
      },
    })
    expect(await outputOf(own)).toEqual(['__proto__', 'constructor', 'toString', 'a/b', 'ä', 'nothing'])
  })

  test('a value is as it was when it was read; who reads again sees what was set', async () => {
    const own = single(() => {
      const [before, set] = useWorkflowState('k', 1)
      set(2)
      set((value = 0) => value * 10)
      const [after] = useWorkflowState<number>('k')
      return { data: [before, after ?? -1] }
    })
    expect(await outputOf(own)).toEqual([1, 20])
  })

  test('who writes into what was read or set changes nothing', async () => {
    const own = inRow({
      first: () => {
        const given = { list: [1] }
        const [value, set] = useWorkflowState('k', { list: [0] })
        set(given)
        given.list.push(2)
        value.list.push(9)
        useWorkflowState<{ list: number[] }>('k')[0]?.list.push(3)
      },
      second: reads('k'),
    })
    expect(await outputOf(own)).toEqual({ value: { list: [1] } })
  })

  test.each<[string, unknown]>([
    ['what holds itself', holding()],
    ['a big integer', 1n],
    ['a symbol', Symbol('s')],
  ])('%s is no state: the node that sets it fails', async (_, value) => {
    for (const update of [value, () => value]) {
      expect(await outputOf(single(() => useWorkflowState<unknown>('k')[1](update)))).toBe('validation_failed')
    }
    expect(await outputOf(single(() => useWorkflowState<unknown>('k')[1](() => () => 1)))).toBe('validation_failed')
  })

  test('one value has a size, and all of them together have one', async () => {
    const large = 'x'.repeat(MAX_STATE_VALUE - 2)
    const fits = inRow({ first: () => useWorkflowState<string>('k')[1](large), second: () => ({ data: 'fits' }) })
    expect(await outputOf(fits)).toBe('fits')
    expect(await outputOf(single(() => useWorkflowState<string>('k')[1](`${large}x`)))).toBe('workflow_state_too_large')
    const many = inRow({
      first: () => {
        for (let n = 0; n < 17; n++) useWorkflowState<string>(`k${n}`)[1](large)
      },
      second: () => ({ data: 'fits' }),
    })
    expect(await outputOf(many)).toBe('workflow_state_too_large')
  })

  test('what is taken away makes room again', async () => {
    const large = 'x'.repeat(MAX_STATE_VALUE - 100)
    const own = wired(
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
    expect(await outputOf(own)).toBe(40)
  })

  test('an update that cannot be made is a failure of its node, which may be tried again or routed', async () => {
    let tries = 0
    const fails = () => {
      if (++tries < 3) throw new Error('not yet')
      return tries
    }
    const own = inRow({
      first: { run: () => useWorkflowState<number>('k')[1](fails), retry: { attempts: 3 } },
      second: reads('k'),
    })
    expect(await outputOf(own)).toMatchObject({ value: expect.any(Number) })
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

  test('a key is text of 1 to 64 characters', async () => {
    for (const key of ['', 'x'.repeat(65), 5]) {
      expect(await outputOf(single(() => void useWorkflowState(key as string)))).toBe('validation_failed')
    }
  })

  test('a new run in the same session begins with none', async () => {
    const own = single(() => {
      const [count, set] = useWorkflowState('n', 0)
      const [own, setOwn] = useNodeState(0)
      set(count + 1)
      setOwn(own + 1)
      return { data: [count, own] }
    })
    const play = await Play.of(own)
    expect((await play.result()).output).toEqual([0, 0])
    const second = await play.runtime.start({ workflow: own, input: 'Again.', session: 's' })
    expect((await second.result()).output).toEqual([0, 0])
  })
})

describe.each(PLACES)('state over pauses, %s', (_, opening) => {
  test('it is kept over nodes, pauses and processes; what was read before is read the same', async () => {
    const seen: unknown[] = []
    const own = inRow({
      first: () => useWorkflowState<number>('n')[1](1),
      node: async () => {
        const [before, set] = useWorkflowState<number>('n')
        const [own, setOwn] = useNodeState(10)
        seen.push([before, own])
        set((value = 0) => value + 1)
        setOwn(own + 1)
        const [between] = useWorkflowState<number>('n')
        await useInterrupt(say('One?'))
        const [after] = useWorkflowState<number>('n')
        set((value = 0) => value * 10)
        await useInterrupt(say('Two?'))
        return { data: [before ?? 0, between ?? 0, after ?? 0, useWorkflowState<number>('n')[0] ?? 0] }
      },
      last: ({ input }: NodeContext<number[]>) => ({ data: [...input, useWorkflowState<number>('n')[0] ?? 0] }),
    })
    const play = await Play.of(own, { open: await opening() })
    for (const n of [1, 2]) {
      await play.result()
      await play.restart()
      await play.answer(`1.node.1/@.${n}`, 'yes')
    }
    expect(await play.result()).toMatchObject({ status: 'completed', output: [1, 2, 2, 20, 20] })
    // Three starts from the top: the state had changed meanwhile, and what the node had read had not.
    expect(seen).toEqual([
      [1, 10],
      [1, 10],
      [1, 10],
    ])
    await play.log()
  })

  test('what code makes of a value that it has read is not what it had read', async () => {
    const own = single(async () => {
      const [list] = useWorkflowState<string[]>('list', [])
      const [own] = useNodeState<string[]>(['own'])
      list.push('mine')
      own.pop()
      await useInterrupt(say('One?'))
      return { data: [list, own] }
    })
    const play = await Play.of(own, { open: await opening() })
    await play.result()
    await play.answer('1.node.1/@.1', 'yes')
    expect(await play.result()).toMatchObject({ output: [['mine'], []] })
  })

  test('no change is made twice by code that starts again', async () => {
    const own = inRow({
      node: async () => {
        const [, add] = useWorkflowState('n', 0)
        add((value = 0) => value + 1)
        for (const n of [1, 2, 3]) {
          await useInterrupt(say(`${n}?`))
          add((value = 0) => value + 1)
        }
      },
      last: reads('n'),
    })
    const play = await Play.of(own, { open: await opening() })
    for (const n of [1, 2, 3]) {
      await play.result()
      if (n === 2) await play.restart()
      await play.answer(`1.node.1/@.${n}`, 'yes')
    }
    expect(await play.result()).toMatchObject({ output: { value: 4 } })
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

  test('it is kept over repeats of the node, whatever other nodes with state were visited', async () => {
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

  test('a try that failed leaves nothing behind, but what was committed in it', async () => {
    const seen: unknown[] = []
    const own = single({
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
    expect(await outputOf(own)).toBeUndefined()
    expect(seen).toEqual(Array(3).fill([0, 0, 1, 1]))
  })

  test('it is the node’s own: none of another, and none of the same name in another workflow', async () => {
    const next = inRow({ node: () => ({ data: { value: useNodeState('fresh')[0] } }) }, { id: 'next' })
    const own = inRow({
      first: () => useNodeState('x')[1]('of the first'),
      node: () => {
        const [value, set] = useNodeState('fresh')
        set('of the node')
        return { transitionTo: 'next', data: value }
      },
    })
    expect(await outputOf(own, { workflows: [next] })).toEqual({ value: 'fresh' })
  })
})

describe('branches', () => {
  test('updates by function of branches are all made, one after the other', async () => {
    const adds: NodeDefinition = async ({ node }: NodeContext) => {
      const [, add] = useWorkflowState('n', 0)
      for (let n = 0; n < 10; n++) {
        add((value = 0) => value + 1)
        await useStep(`commit ${n}`, () => node)
      }
      add((value = 0) => value + 1)
    }
    const own = wired({ fork: () => {}, a: adds, b: adds, c: adds, join: reads('n') }, [
      ['start', 'fork'],
      ['fork', ['a', 'b', 'c'], { join: 'join' }],
      ['a', 'join'],
      ['b', 'join'],
      ['c', 'join'],
      ['join', 'end'],
    ])
    expect(await outputOf(own)).toEqual({ value: 33 })
  })

  test('changes and reads while a hook beside them is kept are not lost', async () => {
    const own = inRow({
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
    expect(await outputOf(own)).toEqual({ value: 60 })
  })
})

function holding(): object {
  const one: { self?: object } = {}
  one.self = one
  return one
}
