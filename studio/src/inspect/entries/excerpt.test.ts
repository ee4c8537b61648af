import { type Chunk, catalogue } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { excerptOf } from './excerpt.ts'
import { formatBytes, formatDuration } from './format.ts'
import { groupOf, groups } from './group.ts'

test('summarizes an entry in one line', () => {
  expect(excerptOf({ chunk: { type: 'text-delta', id: 't', delta: 'Once\n upon' } })).toBe('Once upon')
  expect(
    excerptOf({
      chunk: { type: 'tool-input-available', toolCallId: 'c', toolName: 'weather', input: { city: 'Paris' } },
    }),
  ).toBe('weather {"city":"Paris"}')
  expect(excerptOf({ chunk: { type: 'rewind', toSequence: 7, reason: 'edit' } })).toBe('to 7: edit')
  expect(
    excerptOf({ chunk: { type: 'run-paused', awaits: [{ kind: 'approval', id: 'a' }] } as unknown as Chunk }),
  ).toBe('waiting for approval')
})

test('reads only a bounded part of a large value', () => {
  let read = 0
  const item = {
    get name() {
      read++
      return 'x'.repeat(1000)
    },
  }
  const large = Array.from({ length: 100_000 }, () => item)
  expect(excerptOf({ chunk: { type: 'output', output: { large } } }).length).toBeLessThan(200)
  expect(read).toBeLessThan(500)
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      expect(excerptOf({ chunk: { type: 'data-x', data: value } as Chunk }).length).toBeLessThan(200)
    }),
  )
})

test('every chunk type has a group', () => {
  for (const type of Object.keys(catalogue)) expect(groups).toContain(groupOf({ type } as Chunk))
  expect(groupOf({ type: 'data-x', data: 1 })).toBe('content')
  expect(groupOf({ type: 'from-later' } as unknown as Chunk)).toBe('other')
})

test('formats durations and sizes', () => {
  expect([340, 2500, 12_340, 59_999, 250_000, 7_500_000, 200_000_000].map(formatDuration)).toEqual([
    '340 ms',
    '2.50 s',
    '12.3 s',
    '1 min 0 s',
    '4 min 10 s',
    '2 h 5 min',
    '2 d 8 h',
  ])
  expect([12, 1234, 2_500_000].map(formatBytes)).toEqual(['12 B', '1.2 kB', '2.5 MB'])
})
