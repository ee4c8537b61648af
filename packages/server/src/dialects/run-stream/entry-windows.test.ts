import { coalesce, type Entry } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { type EntryWindow, EntryWindows, type EntryWindowsOptions } from './entry-windows.ts'

/** An entry of a log: a delta of one of two lanes, or something else; `gap` leaves out sequences before it. */
interface Written {
  readonly kind: 'a' | 'b' | 'other'
  readonly gap: number
}

const written: fc.Arbitrary<Written> = fc.record({
  kind: fc.constantFrom('a', 'a', 'a', 'b', 'b', 'other'),
  gap: fc.constantFrom(0, 0, 0, 0, 0, 1),
})

const logs = fc.array(written, { minLength: 1, maxLength: 30 }).map(all => {
  let sequence = 0
  return all.map(({ kind, gap }): Entry => {
    sequence += 1 + gap
    const origin = { runId: 'r', lane: kind, agentId: kind, agentType: 'x', step: 0 }
    const chunk =
      kind === 'other'
        ? ({ type: 'step-start' } as const)
        : ({ type: 'text-delta', id: kind, delta: `${sequence} ` } as const)
    return { sequence, timestamp: 1, origin, chunk }
  })
})

/** The sizes of the pieces that a log is read in. */
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 })

function windowsOf(
  entries: readonly Entry[],
  sizes: readonly number[],
  options: EntryWindowsOptions = {},
  replayEnd = Number.POSITIVE_INFINITY,
): EntryWindow[] {
  const windows = new EntryWindows(options)
  const all: EntryWindow[] = []
  for (let at = 0, i = 0; at < entries.length; i++) {
    const size = sizes[i % sizes.length] as number
    const page = entries.slice(at, at + size)
    const positions = new Map(page.map(({ sequence }) => [sequence, `after ${sequence}`]))
    const positionAt = (sequence: number) => positions.get(sequence) ?? 'of another page'
    all.push(...windows.add({ entries: page, reached: page.at(-1)?.sequence ?? 0, replayEnd, positionAt }))
    at += size
  }
  return [...all, ...windows.end()]
}

const runs = { numRuns: multiplied(300) }

describe('windows', () => {
  test('have each entry once, in order, and merge only deltas without a gap between them', () => {
    const property = fc.property(logs, sizes, fc.boolean(), (entries, sizes, isSinglePart) => {
      const windows = windowsOf(entries, sizes, { isSinglePart })
      const covered = windows.flatMap(({ first, last }) =>
        Array.from({ length: last - first + 1 }, (_, i) => first + i),
      )
      expect(covered).toEqual(entries.map(({ sequence }) => sequence))
      for (const { first, last, entries: merged, position } of windows) {
        expect(position).toBe(`after ${last}`)
        const own = entries.filter(({ sequence }) => sequence >= first && sequence <= last)
        expect(merged).toEqual(coalesce(own))
        if (own.length > 1) expect(own.every(({ chunk }) => chunk.type === 'text-delta')).toBe(true)
        if (isSinglePart) expect(merged).toHaveLength(1)
      }
    })
    fc.assert(property, runs)
  })

  test('are the same for a client that resumes in one, however the log is read', () => {
    const property = fc.property(logs, sizes, sizes, (entries, sizes, otherSizes) => {
      for (const resumed of windowsOf(entries, sizes)) {
        const again = windowsOf(entries, otherSizes, { resumed })
        expect(again).toContainEqual(resumed)
      }
    })
    fc.assert(property, runs)
  })

  test('are the same for each size of the pages of a replay', () => {
    const property = fc.property(logs, sizes, sizes, (entries, sizes, otherSizes) => {
      expect(windowsOf(entries, sizes)).toEqual(windowsOf(entries, otherSizes))
    })
    fc.assert(property, runs)
  })

  test('are complete at the end of the replay, also if its last entries are not for this reader', () => {
    const windows = new EntryWindows()
    const page = (reached: number, ...entries: Entry[]) => ({ entries, reached, replayEnd: 3, positionAt: String })
    expect([...windows.add(page(1, delta(1, 'a'))), windows.isOpen]).toEqual([true])
    expect([...windows.add(page(2, delta(2, 'b'))), windows.isOpen]).toEqual([true])
    expect([...windows.add(page(3))]).toMatchObject([{ first: 1, last: 2, position: '2' }])
    expect(windows.isOpen).toBe(false)
  })

  test('have single entries after the replay', () => {
    const property = fc.property(logs, sizes, fc.nat(30), (entries, sizes, replayEnd) => {
      for (const { first, last } of windowsOf(entries, sizes, {}, replayEnd))
        if (last > replayEnd) expect(first).toBe(last)
    })
    fc.assert(property, runs)
  })
})

const delta = (sequence: number, text: string): Entry => ({
  sequence,
  timestamp: 1,
  origin: { runId: 'r', lane: 'main', agentId: 'r', agentType: 'x', step: 0 },
  chunk: { type: 'text-delta', id: 't', delta: text },
})

test('law 8: a window has a bounded number of entries and length, also the one of a client', () => {
  const resumed = { first: 1, last: 10_000 }
  for (const options of [{}, { resumed }]) {
    const many = Array.from({ length: 10_000 }, (_, i) => delta(i + 1, 'x'))
    expect(Math.max(...windowsOf(many, [100], options).map(({ first, last }) => last - first + 1))).toBeLessThan(4_097)
    const large = Array.from({ length: 50 }, (_, i) => delta(i + 1, 'x'.repeat(50_000)))
    expect(Math.max(...windowsOf(large, [100], options).map(({ first, last }) => last - first + 1))).toBeLessThan(7)
  }
})

test('does not merge deltas of guests, internal ones, and those with blobs', () => {
  const plain = [1, 2, 3].map(sequence => delta(sequence, 'x'))
  const [, second] = plain as [Entry, Entry, Entry]
  for (const other of [
    { ...second, internal: true as const },
    { ...second, blobs: {} },
    { ...second, origin: { guest: 'ann' } },
  ]) {
    const entries = plain.map(entry => (entry === second ? (other as Entry) : entry))
    expect(windowsOf(entries, [9]).map(({ entries: [entry] }) => entry)).toEqual(entries)
  }
})

test('keeps deltas of one part apart that differ in another field', () => {
  const signed = (sequence: number): Entry => {
    const entry = delta(sequence, 'x')
    return sequence === 2 ? { ...entry, chunk: { ...entry.chunk, providerMetadata: { p: { a: 1 } } } as never } : entry
  }
  const entries = [1, 2, 3].map(signed)
  expect(windowsOf(entries, [9], { isSinglePart: true }).map(({ first, last }) => [first, last])).toEqual([
    [1, 1],
    [2, 2],
    [3, 3],
  ])
  expect(windowsOf(entries, [9])).toEqual([{ first: 1, last: 3, entries, position: 'after 3' }])
})
