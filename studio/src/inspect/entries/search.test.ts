import type { Chunk, Entry, Origin } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Group } from './group.ts'
import { type EntryFilter, isNoFilter, Search } from './search.ts'

const writer = (runId: string, lane: string): Origin => ({ runId, lane, agentId: runId, agentType: 'teller', step: 1 })
const chunks: readonly Chunk[] = [
  { type: 'text-delta', id: 't', delta: 'Once upon a Time' },
  { type: 'run-started', program: 'agent:teller@1' },
  { type: 'tool-input-start', toolCallId: 'c', toolName: 'weather' },
]
const entries = fc
  .array(fc.tuple(fc.nat(2), fc.constantFrom('r1', 'r2'), fc.constantFrom('main', 'main/c')), { maxLength: 300 })
  .map(list =>
    list.map(([chunk, runId, lane], i): Entry => {
      return { sequence: i + 1, timestamp: i, origin: writer(runId, lane), chunk: chunks[chunk] as Chunk }
    }),
  )
const filter: fc.Arbitrary<EntryFilter> = fc.record({
  groups: fc.uniqueArray(fc.constantFrom<Group>('text', 'run', 'tool')).map(list => new Set(list)),
  runId: fc.constantFrom(undefined, 'r1'),
  lane: fc.constantFrom(undefined, 'main'),
  text: fc.constantFrom('', 'TIME', 'weather', 'nowhere'),
})

test('finds the same entries in slices as at once', () => {
  fc.assert(
    fc.property(entries, filter, fc.array(fc.nat(300)), (log, filter, pieces) => {
      const bit = new Search(filter)
      for (const count of pieces.sort((a, b) => a - b)) bit.run(log, Math.min(count, log.length), () => true)
      while (!bit.run(log, log.length, () => true));
      const whole = new Search(filter)
      expect(whole.run(log, log.length, () => false)).toBe(true)
      expect(bit.found).toEqual(whole.found)
      if (isNoFilter(filter)) expect(whole.found).toHaveLength(log.length)
    }),
  )
})

test('filters by run including its request, by text ignoring case, and by group', () => {
  const log: Entry[] = [
    {
      sequence: 1,
      timestamp: 1,
      origin: { guest: 'g' },
      chunk: { type: 'run-requested', runId: 'r1', program: 'agent:teller@1' },
    },
    ...chunks.map((chunk, i): Entry => ({ sequence: i + 2, timestamp: i, origin: writer('r1', 'main'), chunk })),
  ]
  const find = (filter: Partial<EntryFilter>) => {
    const search = new Search({ groups: new Set(), text: '', ...filter })
    search.run(log, log.length, () => false)
    return search.found
  }
  expect(find({ runId: 'r1' })).toEqual([0, 1, 2, 3])
  expect(find({ text: 'tImE' })).toEqual([1])
  expect(find({ groups: new Set(['run']) })).toEqual([0, 2])
  expect(find({ lane: 'main', text: 'weather' })).toEqual([3])
})

test('stops when its time is over', () => {
  const log = Array.from({ length: 10_000 }, (_, i): Entry => {
    return { sequence: i + 1, timestamp: i, origin: writer('r', 'main'), chunk: chunks[0] as Chunk }
  })
  const search = new Search({ groups: new Set(), text: 'once' })
  expect(search.run(log, log.length, () => true)).toBe(false)
  expect(search.searched).toBeLessThan(100)
})
