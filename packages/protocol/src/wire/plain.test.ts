import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { arbitraryFrame } from '../catalogue/chunk.fixture.ts'
import { checkFrame } from '../catalogue/validate.ts'
import { entryFields, origins } from '../entry.ts'
import { frames } from '../frame.ts'
import { runs } from '../runs.fixture.ts'
import { isPlainFrame } from './plain.ts'

const plain = () => ({
  type: 'entries',
  session: 's',
  after: 0,
  sequence: 3,
  cursor: '3',
  entries: [
    {
      sequence: 1,
      timestamp: 1,
      origin: { runId: 'r', lane: 'main', agentId: 'r', agentType: 'poet', step: 1, node: 'n', model: 'm' },
      chunk: { type: 'text-delta', id: 't', delta: 'a' },
    },
    { sequence: 3, timestamp: 1, chunk: { type: 'text-end', id: 't' } },
  ],
})

type Loose = { [key: string]: unknown }

const values = [undefined, null, true, -1, 0, 1.5, 2 ** 53, Number.NaN, 'x', [], [null], {}, { x: 1 }]

describe('plain frames', () => {
  it('are most of what a run sends', () => {
    expect(isPlainFrame(plain())).toBe(true)
    expect(isPlainFrame({ ...plain(), entries: [] })).toBe(true)
  })

  it.each([null, undefined, 1, 'entries', [], {}])('are not %j', value => {
    expect(isPlainFrame(value)).toBe(false)
  })

  it('are right in every field that the tables know', () => {
    const places: [string[], (frame: ReturnType<typeof plain>) => Loose][] = [
      [['type', ...Object.keys(frames.entries)], frame => frame],
      [Object.keys(entryFields), frame => frame.entries[0] as Loose],
      [Object.keys(entryFields), frame => frame.entries[1] as Loose],
      [[...Object.keys(origins.writer), ...Object.keys(origins.guest)], frame => frame.entries[0]?.origin as Loose],
      [['type', 'id', 'delta'], frame => frame.entries[0]?.chunk as Loose],
    ]
    let refused = 0
    for (const [names, at] of places) {
      for (const name of names) {
        for (const value of values) {
          const frame = plain()
          at(frame)[name] = value
          if (checkFrame(frame) === undefined) continue
          refused++
          expect(isPlainFrame(frame), `${name}: ${JSON.stringify(value)}`).toBe(false)
        }
      }
    }
    expect(refused).toBeGreaterThan(200)
  })

  it('are right, whatever the frame', () => {
    fc.assert(
      fc.property(fc.oneof(arbitraryFrame(), fc.jsonValue()), frame => {
        if (checkFrame(frame) !== undefined) expect(isPlainFrame(frame)).toBe(false)
      }),
      { numRuns: runs(200) },
    )
  })
})
