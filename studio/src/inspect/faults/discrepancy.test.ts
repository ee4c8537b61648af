import type { Message } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { discrepanciesOf } from './discrepancy.ts'

const messageOf = (n: number, text = `words of ${n}`): Message => ({
  id: `m${n}`,
  role: 'assistant',
  status: 'sent',
  at: n,
  createdAt: 0,
  parts: [{ type: 'text', key: 'text:t', id: 't', at: n, text, state: 'done' }],
})
const many = (count: number) => Array.from({ length: count }, (_, i) => messageOf(i))
const found = (...args: Parameters<typeof discrepanciesOf>) =>
  discrepanciesOf(...args).map(({ id, kind }) => [id, kind])

test('finds nothing in equal messages and ignores their status', () => {
  expect(found(many(3), many(3), true)).toEqual([])
  expect(found([{ ...messageOf(0), status: 'error' }], many(1), true)).toEqual([])
})

test('reports missing text as lost, other changes and unknown messages as differing', () => {
  expect(found([messageOf(0, 'word of 0')], many(1), true)).toEqual([['m0', 'lost']])
  expect(found([messageOf(0, '')], many(1), true)).toEqual([['m0', 'lost']])
  expect(found([messageOf(0, 'w0rds of 0')], many(1), true)).toEqual([['m0', 'differing']])
  expect(found([messageOf(0, 'words of 0 and more')], many(1), true)).toEqual([['m0', 'differing']])
  expect(found([{ ...messageOf(0), role: 'user' }], many(1), true)).toEqual([['m0', 'differing']])
  expect(found(many(2), many(1), true)).toEqual([['m1', 'differing']])
})

test('ignores a message that is still being sent', () => {
  const sending: Message = { ...messageOf(7), role: 'user', status: 'sending', at: Number.MAX_SAFE_INTEGER }
  expect(found([...many(1), sending], many(1), true)).toEqual([])
})

test('compares only the loaded page and older messages that are shown', () => {
  const all = many(250)
  const page = all.slice(150)
  expect(found(page, all, false)).toEqual([])
  expect(found([messageOf(3), ...page], all, false)).toEqual([])
  expect(found([messageOf(3, 'wor'), ...page], all, false)).toEqual([['m3', 'lost']])
  expect(found(page.toSpliced(60, 1), all, false)).toEqual([['m210', 'lost']])
  expect(found(page.slice(0, -1), all, false)).toEqual([['m249', 'lost']])
  expect(found(page, all, true)).toHaveLength(150)
})

test('accepts a page with fewer messages than usual', () => {
  expect(found(many(250).slice(200), many(250), false)).toEqual([])
})
