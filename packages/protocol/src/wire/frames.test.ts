import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Entry, Origin } from '../entry.ts'
import type { EntriesFrame, Frame, WireFrame } from '../frame.ts'
import { runs } from '../runs.fixture.ts'
import { arbitraryConnection } from './connection.fixture.ts'
import { continuityOf, FrameReader, FrameWriter, packFrame } from './frames.ts'

const writer: Origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'poet', step: 1 }
const guest: Origin = { guest: 'ann' }

const entry = (sequence: number, origin: Origin = writer, more: Partial<Entry> = {}): Entry => ({
  sequence,
  timestamp: sequence,
  origin,
  chunk: { type: 'text-delta', id: 't', delta: 'a' },
  ...more,
})

const entries = (after: number, sequence: number, of: Entry[] = [], session?: string): EntriesFrame => ({
  type: 'entries',
  ...(session !== undefined && { session }),
  after,
  sequence,
  entries: of,
  cursor: String(sequence),
})

const open = (session: string): Frame => ({
  type: 'open',
  version: 1,
  session,
  incarnation: 'i',
  head: 9,
  heartbeat: 1000,
  cursor: '0',
})

/** The frame as it would come out of JSON at the other side. */
const wire = (frame: WireFrame): WireFrame & { [key: string]: unknown } => JSON.parse(JSON.stringify(frame))

const afters = (frames: Frame[]): unknown[] => {
  const wireWriter = new FrameWriter()
  return frames.map(frame => wire(wireWriter.write(frame))['after'])
}

const invalid = (message: string) => expect.objectContaining({ code: 'invalid-frame', message })

describe('packing', () => {
  it('leaves out an origin that equals the one before, by identity or by value', () => {
    const packed = wire(packFrame(entries(0, 4, [entry(1), entry(2), entry(3, { ...writer }), entry(4, guest)])))
    expect((packed['entries'] as Entry[]).map(({ origin }) => origin)).toEqual([writer, undefined, undefined, guest])
  })

  it('keeps an origin that has a field more, a field less or another value', () => {
    const origins = [writer, { ...writer, node: 'n' }, writer, { ...writer, step: 2 }, { ...writer, x: undefined }]
    const packed = packFrame(
      entries(
        0,
        5,
        origins.map((origin, i) => entry(i + 1, origin)),
      ),
    ) as EntriesFrame
    expect(packed.entries.map(({ origin }) => origin)).toEqual(origins)
  })

  it('law 10: lets no internal entry go, and still says how far the frame reaches', () => {
    const secret = entry(2, guest, { internal: true })
    const packed = wire(packFrame(entries(0, 3, [entry(1), secret, entry(3)])))
    expect(packed).toMatchObject({ after: 0, sequence: 3, entries: [{ sequence: 1 }, { sequence: 3 }] })
    expect(JSON.stringify(packed)).not.toContain('ann')
    expect(packFrame(entries(0, 2, [secret]))).toMatchObject({ sequence: 2, entries: [] })
  })

  it('does not change what it is given', () => {
    const frame = entries(0, 3, [entry(1), entry(2), entry(3, guest, { internal: true })])
    const before = structuredClone(frame)
    const frameWriter = new FrameWriter()
    frameWriter.write(frame)
    frameWriter.write({ ...frame, after: 3, sequence: 6 })
    expect(frame).toEqual(before)
  })
})

describe('the writer', () => {
  it('writes `after` first, and then only where it is not the previous sequence', () => {
    expect(afters([open('a'), entries(0, 2), entries(2, 5), entries(6, 7)])).toEqual([undefined, 0, undefined, 6])
  })

  it('counts each session by itself', () => {
    expect(
      afters([entries(4, 5, [], 'a'), entries(5, 6, [], 'b'), entries(5, 6, [], 'a'), entries(6, 7, [], 'b')]),
    ).toEqual([4, 5, undefined, undefined])
  })

  it('writes `after` again when a session opens again', () => {
    expect(afters([open('a'), entries(0, 2), open('a'), entries(2, 3)])).toEqual([undefined, 0, undefined, 2])
  })

  it('takes a session by its name and by its `open` for the same', () => {
    expect(afters([open('a'), entries(0, 2), entries(2, 3, [], 'a')])).toEqual([undefined, 0, undefined])
  })

  it('refuses a frame without a session where several share the connection', () => {
    const frameWriter = new FrameWriter()
    frameWriter.write(open('a'))
    frameWriter.write(open('b'))
    expect(() => frameWriter.write(entries(0, 1))).toThrow(
      invalid('frame entries.session: expected string where sessions share a connection'),
    )
  })
})

describe('the reader', () => {
  it('restores every frame of a connection', () => {
    fc.assert(
      fc.property(arbitraryConnection(), frames => {
        const frameWriter = new FrameWriter()
        const reader = new FrameReader()
        expect(frames.map(frame => reader.read(wire(frameWriter.write(frame))))).toEqual(frames)
      }),
      { numRuns: runs(100) },
    )
  })

  it('gives entries that inherit an origin the same object', () => {
    const frame = entries(0, 4, [entry(1), entry(2, { ...writer }), entry(3, guest), entry(4, { ...guest })])
    const { entries: read } = new FrameReader().read(wire(packFrame(frame))) as EntriesFrame
    expect(read[1]?.origin).toBe(read[0]?.origin)
    expect(read[3]?.origin).toBe(read[2]?.origin)
    expect(read[2]?.origin).not.toBe(read[1]?.origin)
  })

  it('takes a frame without a session for one of the only session', () => {
    const reader = new FrameReader()
    const read = (frame: Frame) => reader.read({ ...frame, after: undefined } as WireFrame)
    reader.read(open('a'))
    reader.read(entries(0, 2))
    expect(read(entries(0, 3, [], 'a'))).toMatchObject({ after: 2 })
    expect(read(entries(0, 4))).toMatchObject({ after: 3 })
    reader.read(open('b'))
    expect(read(entries(0, 5, [], 'a'))).toMatchObject({ after: 4 })
    expect(() => read(entries(0, 6))).toThrow(
      invalid('frame entries.session: expected string where sessions share a connection'),
    )
  })

  it.each<[string, WireFrame, string]>([
    [
      'a first frame without `after`',
      { ...entries(0, 1), after: undefined },
      'after: expected integer in the first frame of a session, found undefined',
    ],
    ['a frame that goes back', entries(5, 4), 'sequence: expected at least 5, found 4'],
    ['an entry before the frame', entries(5, 6, [entry(5)]), 'entries[0].sequence: expected 6 to 6, found 5'],
    ['an entry past the frame', entries(5, 6, [entry(7)]), 'entries[0].sequence: expected 6 to 6, found 7'],
    ['an entry twice', entries(5, 9, [entry(7), entry(7)]), 'entries[1].sequence: expected 8 to 9, found 7'],
  ])('refuses %s', (_, frame, problem) => {
    expect(() => new FrameReader().read(frame)).toThrow(invalid(`frame entries.${problem}`))
  })
})

describe('continuity', () => {
  it.each<[number, string]>([
    [4, 'gap'],
    [5, 'next'],
    [6, 'overlap'],
    [7, 'overlap'],
    [8, 'duplicate'],
    [9, 'duplicate'],
  ])('(5, 8] after %i is %s', (position, continuity) => {
    expect(continuityOf(entries(5, 8), position)).toBe(continuity)
  })

  it('of a frame that was not read, and so does not say where it begins, cannot be proven', () => {
    const { after: _, ...frame } = entries(7, 8)
    expect(continuityOf(frame as EntriesFrame, 7)).toBe('gap')
  })

  it('of an empty frame is the next, and moves on', () => {
    expect(continuityOf(entries(5, 5), 5)).toBe('next')
  })

  it('of `caught-up` says whether the replay left something out', () => {
    const caughtUp: Frame = { type: 'caught-up', sequence: 8, cursor: '8' }
    expect([7, 8, 9].map(position => continuityOf(caughtUp, position))).toEqual(['gap', 'next', 'next'])
  })

  it('law 2: a client that applies what is next, and asks again otherwise, has every entry once', () => {
    const fault = fc.constantFrom('none', 'none', 'none', 'lose', 'twice', 'cut', 'again')
    const cuts = fc.array(fc.record({ size: fc.integer({ min: 0, max: 4 }), fault }), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), cuts, (head, plan) => {
        const got: number[] = []
        const steps = plan.values()
        let position = 0
        let connections = 0
        while (position < head) {
          // A server replays from the client's position, or from before it; then the faults run out and it serves well.
          const frameWriter = new FrameWriter()
          const reader = new FrameReader()
          let at = connections++ % 2 === 0 ? position : Math.max(0, position - 2)
          let healthy = true
          while (healthy && at < head) {
            const { size, fault } = steps.next().value ?? { size: 5, fault: 'none' }
            const to = Math.min(head, at + size)
            const of = Array.from({ length: to - at }, (_, i) => entry(at + i + 1))
            const sent =
              fault === 'lose'
                ? []
                : fault === 'twice'
                  ? [entries(at, to, of), entries(at, to, of)]
                  : [entries(at, to, of)]
            at = fault === 'again' ? Math.max(0, to - 1) : to
            for (const frame of sent) {
              const read = reader.read(wire(frameWriter.write(frame))) as EntriesFrame
              const continuity = continuityOf(read, position)
              healthy &&= continuity === 'next' || continuity === 'duplicate'
              if (continuity !== 'next') continue
              got.push(...read.entries.map(({ sequence }) => sequence))
              position = read.sequence
            }
            healthy &&= fault !== 'cut'
          }
        }
        expect(got).toEqual(Array.from({ length: head }, (_, i) => i + 1))
      }),
      { numRuns: runs(200) },
    )
  })
})
