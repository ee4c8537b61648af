import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { gate } from '../../api/test-runtime.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import { chunksOf } from '../agent/run-to-end.fixture.ts'
import {
  STORES,
  sequence,
  single,
  textInterrupt,
  WorkflowTestRun,
  wired,
} from '../workflow/workflow-test-run.fixture.ts'
import { useInterrupt } from './use-interrupt.ts'
import { useStep } from './use-step.ts'
import { useStructuredData } from './use-structured-data.ts'

describe('updates', () => {
  test('writes set, append, text-delta and final once and in order', async () => {
    const testWorkflow = single(async () => {
      const streamId = 'email'
      const about = { streamId, dataType: 'email', schemaId: 'email', schemaVersion: '1', id: 'mine' }
      await useStructuredData({ ...about, kind: 'set', path: 'subject', value: 'Hi' })
      await useStructuredData({ ...about, kind: 'text-delta', path: 'draft.body', delta: 'Dear ' })
      await useStructuredData({ ...about, kind: 'text-delta', path: 'draft.body', delta: 'Ann' })
      await useStructuredData({ ...about, kind: 'append', path: 'table.rows', items: [{ n: 1 }, { n: 2 }] })
      await useStructuredData({ ...about, kind: 'append', path: 'table.rows', items: [{ n: 3 }] })
      await useStep('shown', () => 1)
      await useStructuredData({ ...about, kind: 'final', data: { subject: 'Hi', isSent: true } })
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    const chunks = chunksOf(await testRun.log(), 'structured-data')
    expect(chunks.map(({ kind }) => kind).at(-1)).toBe('final')
    expect(new Set(chunks.map(({ streamId, node }) => `${streamId} ${node}`))).toEqual(new Set(['email node']))
    const [object] = (await testRun.view()).structured
    expect(object).toMatchObject({
      streamId: 'email',
      dataType: 'email',
      schemaId: 'email',
      schemaVersion: '1',
      id: 'mine',
      status: 'done',
      data: { subject: 'Hi', isSent: true },
    })
  })

  test('shows unfinished objects', async () => {
    const testWorkflow = single(async () => {
      await useStructuredData({ streamId: 'o', kind: 'set', path: 'a.b', value: [1] })
      await useStructuredData({ streamId: 'o', kind: 'append', path: 'a.b', items: [2, 3] })
      await useStructuredData({ streamId: 'o', kind: 'text-delta', path: 'a.c', delta: 'x' })
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    expect((await testRun.view()).structured).toMatchObject([
      { streamId: 'o', dataType: 'generic', status: 'streaming', data: { a: { b: [1, 2, 3], c: 'x' } } },
    ])
  })

  test('defaults to final and to a new object', async () => {
    const testWorkflow = single(() => {
      useStructuredData({ data: { n: 1 } })
      useStructuredData({ data: { n: 2 } })
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    const { structured } = await testRun.view()
    expect(structured).toMatchObject([
      { status: 'done', data: { n: 1 } },
      { status: 'done', data: { n: 2 } },
    ])
    expect(new Set(structured.map(({ streamId }) => streamId)).size).toBe(2)
  })

  test('shows the parsed value of a schema', async () => {
    const text = z.string().transform(value => value.trim())
    const testWorkflow = single(async () => {
      await useStructuredData({ streamId: 'o', kind: 'set', path: 'a', value: ' x ', valueSchema: text })
      await useStructuredData({ streamId: 'o', kind: 'append', path: 'l', items: [' y ', 'z '], itemSchema: text })
      await useStructuredData({ data: { k: ' v ' }, dataSchema: z.object({ k: text }) })
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    await testRun.result()
    expect((await testRun.view()).structured.map(({ data }) => data)).toEqual([{ a: 'x', l: ['y', 'z'] }, { k: 'v' }])
  })

  const one = { streamId: 'o', kind: 'set', path: 'a', value: 1 }
  test.each<[string, readonly object[], string]>([
    [
      'a second final',
      [
        { streamId: 'o', data: 1 },
        { streamId: 'o', data: 2 },
      ],
      'done',
    ],
    ['anything after the final', [{ streamId: 'o', data: {} }, one], 'done'],
    ['an append to a value that is not a list', [one, { streamId: 'o', kind: 'append', path: 'a', items: [1] }], 'a'],
    [
      'a text delta to a value that is not text',
      [one, { streamId: 'o', kind: 'text-delta', path: 'a', delta: 'x' }],
      'a',
    ],
    ['a field of a value that is not an object', [one, { streamId: 'o', kind: 'set', path: 'a.b', value: 1 }], 'a'],
    ['an empty path', [{ ...one, path: '' }], 'path'],
    ['a path with an empty segment', [{ ...one, path: 'a..b' }], 'path'],
    ['no path', [{ ...one, path: undefined }], 'path'],
    ['a list index that is too large', [{ ...one, path: 'l.4294967294' }], 'l'],
    ['an unknown kind', [{ ...one, kind: 'remove' }], 'kind'],
    ['a value that does not match its schema', [{ ...one, valueSchema: z.string() }], 'value'],
    [
      'items that do not match their schema',
      [{ streamId: 'o', kind: 'append', path: 'l', items: ['x', 1], itemSchema: z.string() }],
      'items.1',
    ],
    ['items that are not a list', [{ streamId: 'o', kind: 'append', path: 'l', items: 'x' }], 'items'],
    ['data that does not match its schema', [{ data: {}, dataSchema: z.object({ a: z.string() }) }], 'data'],
    ['data that is not JSON', [{ data: () => 1 }], 'data'],
    ['no data', [{ kind: 'final' }], 'data'],
    ['a delta that is not text', [{ streamId: 'o', kind: 'text-delta', path: 'a', delta: 1 }], 'delta'],
    ['an asynchronous schema', [{ ...one, valueSchema: z.string().refine(async () => true) }], 'value'],
    ['an empty streamId', [{ ...one, streamId: '' }], 'streamId'],
    ['a dataType that is not text', [{ ...one, dataType: 5 }], 'dataType'],
  ])('throws in the node at once for %s, and no reader gets it', async (_, updates, found) => {
    let reached = 0
    const testWorkflow = single(() => {
      for (const update of updates) {
        useStructuredData(update as never)
        reached++
      }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    const { status, error } = await testRun.result()
    expect([status, error?.code]).toEqual(['failed', 'validation_failed'])
    expect(error?.message).toContain('useStructuredData')
    expect(error?.message).toContain(found)
    expect(reached).toBe(updates.length - 1)
    await testRun.log()
  })

  test('lets a node continue after an invalid update', async () => {
    const testWorkflow = single(async () => {
      await useStructuredData({ streamId: 'o', kind: 'set', path: 'a', value: 1 })
      expect(() => useStructuredData({ streamId: 'o', kind: 'append', path: 'a', items: [1] })).toThrow('a')
      await useStructuredData({ streamId: 'o', kind: 'set', path: 'b', value: 2 })
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    expect((await testRun.view()).structured).toMatchObject([{ data: { a: 1, b: 2 } }])
  })

  test('supports keys that objects inherit', async () => {
    const testWorkflow = single(async () => {
      await useStructuredData({ streamId: 'o', kind: 'set', path: '__proto__.x', value: 1 })
      await useStructuredData({ streamId: 'o', kind: 'append', path: 'toString', items: [1] })
      await useStructuredData({ streamId: 'o', kind: 'text-delta', path: 'constructor.name', delta: 'x' })
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    const [object] = (await testRun.view()).structured
    expect(JSON.stringify(object?.data)).toBe('{"__proto__":{"x":1},"toString":[1],"constructor":{"name":"x"}}')
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })

  test('lets one node start an object and another end it', async () => {
    const testWorkflow = sequence({
      first: () => void useStructuredData({ streamId: 'o', kind: 'text-delta', path: 't', delta: 'a' }),
      second: () => void useStructuredData({ streamId: 'o', kind: 'text-delta', path: 't', delta: 'b' }),
      third: () => void useStructuredData({ streamId: 'o', data: { t: 'ab' } }),
    })
    const testRun = await WorkflowTestRun.start(testWorkflow)
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    expect((await testRun.view()).structured).toMatchObject([{ status: 'done', data: { t: 'ab' } }])
    await testRun.log()
  })
})

describe.each(STORES)('replay, %s', (_, opening) => {
  test('shows nothing twice, with the same generated streamId', async () => {
    const testWorkflow = single(async () => {
      await useStructuredData({ data: 'before' })
      await useStructuredData({ streamId: 'o', kind: 'text-delta', path: 't', delta: 'a' })
      await useInterrupt(textInterrupt('One?'))
      await useStructuredData({ data: 'between' })
      await useStructuredData({ streamId: 'o', kind: 'text-delta', path: 't', delta: 'b' })
      await useInterrupt(textInterrupt('Two?'))
      await useStructuredData({ streamId: 'o', kind: 'text-delta', path: 't', delta: 'c' })
      await useStructuredData({ data: 'after' })
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    for (const n of [1, 2]) {
      await testRun.result()
      await testRun.restart()
      await testRun.answer(`1.node.1/@.${n}`, 'yes')
    }
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    expect(chunksOf(await testRun.log(), 'structured-data')).toHaveLength(6)
    expect((await testRun.view()).structured.map(({ data }) => data)).toEqual([
      'before',
      { t: 'abc' },
      'between',
      'after',
    ])
  })

  test('rejects the same invalid update again on replay', async () => {
    const seen: string[] = []
    const testWorkflow = single(async () => {
      const set = (value: unknown) => useStructuredData({ streamId: 'o', kind: 'set', path: 'a', value })
      const add = () => useStructuredData({ streamId: 'o', kind: 'append', path: 'a', items: [1] })
      const tried = (code: () => unknown) => {
        try {
          code()
          return 'fits'
        } catch {
          return 'refused'
        }
      }
      const lines = [tried(() => set(1)), tried(add), tried(() => set([])), tried(add)]
      seen.push(lines.join())
      await useInterrupt(textInterrupt('One?'))
      lines.push(tried(add))
      return { data: lines }
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await testRun.result()
    await testRun.answer('1.node.1/@.1', 'yes')
    expect(await testRun.result()).toMatchObject({ output: ['fits', 'refused', 'fits', 'fits', 'fits'] })
    expect(seen).toEqual(Array(2).fill('fits,refused,fits,fits'))
    expect((await testRun.view()).structured).toMatchObject([{ data: { a: [1, 1] } }])
    expect(chunksOf(await testRun.log(), 'structured-data')).toHaveLength(4)
  })

  test('withdraws the updates of a failed attempt, and shows those of the next', async () => {
    let tries = 0
    const testWorkflow = single({
      retry: { attempts: 3 },
      run: async () => {
        await useStructuredData({ streamId: 'kept', kind: 'append', path: 'l', items: ['kept'] })
        await useStep('commits', () => 1)
        await useStructuredData({ streamId: 'kept', kind: 'append', path: 'l', items: ['more'] })
        await useStructuredData({ streamId: 'o', data: { try: ++tries } })
        if (tries < 3) throw new Error('not yet')
      },
    })
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    const shown = Object.fromEntries((await testRun.view()).structured.map(({ streamId, data }) => [streamId, data]))
    expect(shown).toEqual({ kept: { l: ['kept', 'more'] }, o: { try: 3 } })
    await testRun.log()
  })

  test('withdraws the updates of a failed attempt also if the session was read meanwhile', async () => {
    const shown = gate()
    const goOn = gate()
    let tries = 0
    const testWorkflow = wired(
      {
        fork: () => {},
        a: {
          retry: { attempts: 2 },
          run: async () => {
            await useStructuredData({ streamId: 'o', data: { try: ++tries } })
            shown.open()
            await goOn.opened
            if (tries === 1) throw new Error('not yet')
          },
        },
        b: async () => {
          await useInterrupt(textInterrupt('One?', { id: 'q' }))
          goOn.open()
        },
        join: () => {},
      },
      [
        ['start', 'fork'],
        ['fork', ['a', 'b'], { join: 'join' }],
        ['a', 'join'],
        ['b', 'join'],
        ['join', 'end'],
      ],
    )
    const testRun = await WorkflowTestRun.start(testWorkflow, { open: await opening() })
    await shown.opened
    for await (const { chunk } of testRun.run.stream()) if (chunk.type === 'interrupt') break
    await testRun.answer('1.b.1/useInterrupt:q.1', 'yes')
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    expect((await testRun.view()).structured).toMatchObject([{ data: { try: 2 } }])
    await testRun.log()
  })
})

test.each<[string, () => void]>([
  ['that are too large', () => void useStructuredData({ data: 'x'.repeat(2_000_000) })],
  [
    'of which too many are not awaited',
    () => {
      const value = 'x'.repeat(50_000)
      for (let n = 0; n < 1000; n++) useStructuredData({ streamId: 'o', kind: 'set', path: `k${n}`, value })
    },
  ],
])('fails the node for updates %s', async (_, code) => {
  const testWorkflow = single({ run: code, onError: { continue: 'refused' } })
  const testRun = await WorkflowTestRun.start(testWorkflow)
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'refused' })
  expect((await testRun.view()).structured).toEqual([])
  await testRun.log()
})

test('rejects concurrent updates of one object by two branches', async () => {
  const first = gate()
  const second = gate()
  const testWorkflow = wired(
    {
      fork: () => {},
      a: async () => {
        await useStructuredData({ streamId: 'o', kind: 'set', path: 'a', value: 1 })
        first.open()
        await second.opened
      },
      b: {
        run: async () => {
          await first.opened
          try {
            await useStructuredData({ streamId: 'o', kind: 'set', path: 'b', value: 2 })
          } finally {
            second.open()
          }
        },
        onError: { continue: 'refused' },
      },
      join: ({ input }: NodeContext<{ b: string }>) => ({ data: input.b }),
    },
    [
      ['start', 'fork'],
      ['fork', ['a', 'b'], { join: 'join' }],
      ['a', 'join'],
      ['b', 'join'],
      ['join', 'end'],
    ],
  )
  const testRun = await WorkflowTestRun.start(testWorkflow)
  expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'refused' })
  expect((await testRun.view()).structured).toMatchObject([{ data: { a: 1 } }])
  await testRun.log()
})
