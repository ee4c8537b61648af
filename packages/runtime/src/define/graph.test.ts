import { expect, test } from 'vitest'
import type { NodeContext } from './node.ts'
import { workflow } from './workflow.ts'

const { graph } = workflow({
  id: 'email-draft',
  nodes: {
    ask: (): { condition?: 'clear' | 'again' | 'odd' } => ({ condition: 'clear' }),
    draft: () => ({ data: 'text' }),
    check: () => ({ data: 1 }),
    translate: () => ({ data: 'Text' }),
    merge: ({ input }: NodeContext<{ check: number; translate: string }>) => ({ data: input.translate }),
    strict: (): { condition: 'yes' } => ({ condition: 'yes' }),
  },
  edges: [
    ['start', 'ask'],
    ['ask', 'draft', { when: 'clear' }],
    ['ask', 'ask', { when: 'again', max: 3 }],
    ['ask', 'strict', { otherwise: true }],
    ['draft', ['check', 'translate'], { join: 'merge' }],
    ['check', 'merge'],
    ['translate', 'merge'],
    ['merge', 'end'],
    ['strict', 'end', { when: 'yes' }],
  ],
})

test('first is the target of the edge from start', () => {
  expect(graph.first).toBe('ask')
})

test('follows the edge of a condition, with its max', () => {
  expect(graph.next('ask', 'clear')).toEqual({ to: 'draft', edge: 'ask->draft?"clear"' })
  expect(graph.next('ask', 'again')).toEqual({ to: 'ask', edge: 'ask->ask?"again"', max: 3 })
})

test('follows the otherwise edge without a condition, or with an unknown one', () => {
  const otherwise = { to: 'strict', edge: 'ask->strict?*' }
  expect(graph.next('ask', undefined)).toEqual(otherwise)
  expect(graph.next('ask', 'odd')).toEqual(otherwise)
  expect(graph.next('ask', 'toString')).toEqual(otherwise)
})

test('returns undefined if no edge matches and there is no otherwise', () => {
  expect(graph.next('strict', undefined)).toBeUndefined()
  expect(graph.next('strict', 'no')).toBeUndefined()
  expect(graph.next('strict', 'yes')).toEqual({ to: 'end' })
  expect(graph.next('nobody', undefined)).toBeUndefined()
})

test('follows the only edge with any condition', () => {
  expect(graph.next('check', undefined)).toEqual({ to: 'merge', edge: 'check->merge' })
  expect(graph.next('check', 'clear')).toEqual({ to: 'merge', edge: 'check->merge' })
  expect(graph.next('merge', undefined)).toEqual({ to: 'end' })
})

test('lists the branches of a fork in order, with its join', () => {
  expect(graph.next('draft', undefined)).toEqual({
    fork: ['check', 'translate'],
    join: 'merge',
    edge: 'draft->check+translate',
  })
})

test('gives edges unique keys, also between the same nodes', () => {
  const { graph: two } = workflow({
    id: 'two',
    nodes: { a: (): { condition?: 'x' | '*' } => ({}), b: () => {} },
    edges: [
      ['start', 'a'],
      ['a', 'b', { when: 'x' }],
      ['a', 'b', { when: '*' }],
      ['a', 'b', { otherwise: true }],
      ['b', 'end'],
    ],
  })
  const keys = two.edges.map(({ key }) => key)
  expect(new Set(keys).size).toBe(keys.length)
})
