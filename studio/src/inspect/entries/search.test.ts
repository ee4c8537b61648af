import type { Chunk, Entry, Origin } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Group } from './group.ts'
import { isEverything, Search, type Wanted } from './search.ts'

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
const wanted: fc.Arbitrary<Wanted> = fc.record({
  groups: fc.uniqueArray(fc.constantFrom<Group>('text', 'run', 'tool')).map(list => new Set(list)),
  runId: fc.constantFrom(undefined, 'r1'),
  lane: fc.constantFrom(undefined, 'main'),
  text: fc.constantFrom('', 'TIME', 'weather', 'nowhere'),
})

test('what is found in pieces, as the log grows, is what is found at once', () => {
  fc.assert(
    fc.property(entries, wanted, fc.array(fc.nat(300)), (log, wanted, pieces) => {
      const bit = new Search(wanted)
      for (const count of pieces.sort((a, b) => a - b)) bit.go(log, Math.min(count, log.length), () => true)
      while (!bit.go(log, log.length, () => true));
      const whole = new Search(wanted)
      expect(whole.go(log, log.length, () => false)).toBe(true)
      expect(bit.found).toEqual(whole.found)
      if (isEverything(wanted)) expect(whole.found).toHaveLength(log.length)
    }),
  )
})

test('a run is found with who asked for it, text in any letters, a kind by its group', () => {
  const log: Entry[] = [
    {
      sequence: 1,
      timestamp: 1,
      origin: { guest: 'g' },
      chunk: { type: 'run-requested', runId: 'r1', program: 'agent:teller@1' },
    },
    ...chunks.map((chunk, i): Entry => ({ sequence: i + 2, timestamp: i, origin: writer('r1', 'main'), chunk })),
  ]
  const find = (wanted: Partial<Wanted>) => {
    const search = new Search({ groups: new Set(), text: '', ...wanted })
    search.go(log, log.length, () => false)
    return search.found
  }
  expect(find({ runId: 'r1' })).toEqual([0, 1, 2, 3])
  expect(find({ text: 'tImE' })).toEqual([1])
  expect(find({ groups: new Set(['run']) })).toEqual([0, 2])
  expect(find({ lane: 'main', text: 'weather' })).toEqual([3])
})

test('it stops when its time is up', () => {
  const log = Array.from({ length: 10_000 }, (_, i): Entry => {
    return { sequence: i + 1, timestamp: i, origin: writer('r', 'main'), chunk: chunks[0] as Chunk }
  })
  const search = new Search({ groups: new Set(), text: 'once' })
  expect(search.go(log, log.length, () => true)).toBe(false)
  expect(search.looked).toBeLessThan(100)
})
