import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Entry, Origin } from '../entry/entry.ts'
import { runs } from '../property-runs.fixture.ts'
import { arbitraryConnection, open } from '../wire/connection.fixture.ts'
import type { EntriesFrame, Frame, WireFrame } from './frame.ts'
import { continuityOf, FrameReader, FrameWriter, packFrame } from './frame-writer.ts'

const writer: Origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'poet', step: 1 }
const guest: Origin = { guest: 'ann' }

const entry = (sequence: number, origin: Origin = writer, more: Partial<Entry> = {}): Entry => ({
  sequence,
  timestamp: sequence,
  origin,
  chunk: { type: 'text-delta', id: 't', delta: 'a' },
  ...more,
})

const entries = (after: number, sequence: number, list: Entry[] = [], sessionId?: string): EntriesFrame => ({
  type: 'entries',
  ...(sessionId !== undefined && { sessionId }),
  after,
  sequence,
  entries: list,
  cursor: String(sequence),
})

/** The frame after a round trip through JSON. */
const wire = (frame: WireFrame): WireFrame & { [key: string]: unknown } => JSON.parse(JSON.stringify(frame))

const afters = (frames: Frame[]): unknown[] => {
  const wireWriter = new FrameWriter()
  return frames.map(frame => wire(wireWriter.write(frame))['after'])
}

const invalid = (message: string) => expect.objectContaining({ code: 'invalid-frame', message })

describe('packing', () => {
  it('omits an origin that equals the one before, by identity or by value', () => {
    const packed = wire(packFrame(entries(0, 4, [entry(1), entry(2), entry(3, { ...writer }), entry(4, guest)])))
    expect((packed['entries'] as Entry[]).map(({ origin }) => origin)).toEqual([writer, undefined, undefined, guest])
  })

  it('keeps an origin with an added, missing or changed field', () => {
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

  it('law 10: omits internal entries and keeps the sequence of the frame', () => {
    const secret = entry(2, guest, { internal: true })
    const packed = wire(packFrame(entries(0, 3, [entry(1), secret, entry(3)])))
    expect(packed).toMatchObject({ after: 0, sequence: 3, entries: [{ sequence: 1 }, { sequence: 3 }] })
    expect(JSON.stringify(packed)).not.toContain('ann')
    expect(packFrame(entries(0, 2, [secret]))).toMatchObject({ sequence: 2, entries: [] })
  })

  it('does not change its input', () => {
    const frame = entries(0, 3, [entry(1), entry(2), entry(3, guest, { internal: true })])
    const before = structuredClone(frame)
    const frameWriter = new FrameWriter()
    frameWriter.write(open('a'))
    frameWriter.write(frame)
    frameWriter.write({ ...frame, after: 3, sequence: 6 })
    expect(frame).toEqual(before)
  })
})

describe('the writer', () => {
  it('writes `after` in the first frame, then only if it differs from the previous sequence', () => {
    expect(afters([open('a'), entries(0, 2), entries(2, 5), entries(6, 7)])).toEqual([undefined, 0, undefined, 6])
  })

  it('tracks each session separately', () => {
    const frames = [entries(4, 5, [], 'a'), entries(5, 6, [], 'b'), entries(5, 6, [], 'a'), entries(6, 7, [], 'b')]
    expect(afters([open('a'), open('b'), ...frames]).slice(2)).toEqual([4, 5, undefined, undefined])
  })

  it('writes `after` again when a session opens again', () => {
    expect(afters([open('a'), entries(0, 2), open('a'), entries(2, 3)])).toEqual([undefined, 0, undefined, 2])
  })

  it('treats a frame without a session id as one of the opened session', () => {
    expect(afters([open('a'), entries(0, 2), entries(2, 3, [], 'a')])).toEqual([undefined, 0, undefined])
  })
})

const closing: Frame[] = [
  { type: 'end', status: 'completed', sequence: 1 },
  { type: 'truncated', floor: 0, incarnation: 'i', reason: 'epoch' },
  { type: 'fail', error: { code: 'c', message: 'm' }, recoverable: true },
]
const others: Frame[] = [
  entries(0, 1),
  { type: 'caught-up', sequence: 0, cursor: '0' },
  { type: 'status', status: 'active' },
]
const all = [...others, ...closing]
const named = (frame: Frame, sessionId: string) => ({ ...frame, sessionId }) as Frame

describe.each<[string, (...frames: Frame[]) => void]>([
  ['writer', (...frames) => void afters(frames)],
  [
    'reader',
    (...frames) => {
      const reader = new FrameReader()
      for (const frame of frames) reader.read(wire(frame))
    },
  ],
])('the sessions of a connection, for the %s', (_side, take) => {
  const notOpen = (type: string, session: string) =>
    invalid(`frame ${type}.sessionId: expected the id of an open session, found ${session}`)

  it.each(all.filter(({ type }) => type !== 'fail').map(frame => [frame.type, frame]))(
    'need their id in every frame once there are two, closed ones too: %s',
    (type, frame) => {
      const nameless = invalid(`frame ${type}.sessionId: expected the id of a session, found undefined`)
      expect(() => take(open('a'), frame)).not.toThrow()
      expect(() => take(open('a'), open('b'), named(frame, 'a'), named(frame, 'b'))).not.toThrow()
      expect(() => take(open('a'), open('b'), frame)).toThrow(nameless)
      for (const close of closing) expect(() => take(open('a'), open('b'), named(close, 'b'), frame)).toThrow(nameless)
    },
  )

  it.each([...others, closing[0] as Frame].map(frame => [frame.type, frame]))(
    'must be opened before %s',
    (type, frame) => {
      expect(() => take(frame)).toThrow(notOpen(type, 'undefined'))
      expect(() => take(named(frame, 'a'))).toThrow(notOpen(type, '"a"'))
      expect(() => take(open('b'), named(frame, 'a'))).toThrow(notOpen(type, '"a"'))
    },
  )

  it.each(closing.slice(1).map(frame => [frame.type, frame]))(
    'may get only %s if they cannot be opened',
    (type, frame) => {
      expect(() => take(open('b'), named(frame, 'a'), named(others[0] as Frame, 'b'))).not.toThrow()
      expect(() => take(named(frame, 'a'), named(frame, 'a'))).toThrow(notOpen(type, '"a"'))
      expect(() => take(frame, others[0] as Frame)).toThrow(notOpen('entries', 'undefined'))
      expect(() => take(frame, open('a'), others[0] as Frame)).not.toThrow()
    },
  )

  it.each(closing.map(frame => [frame.type, frame]))(
    'accept no frame after %s until they open again',
    (_type, close) => {
      for (const frame of all) {
        const over = notOpen(frame.type, '"a"')
        expect(() => take(open('a'), named(close, 'a'), named(frame, 'a'))).toThrow(over)
        if (frame.type !== 'fail') expect(() => take(open('a'), close, frame)).toThrow(over)
        expect(() => take(open('a'), close, open('a'), frame)).not.toThrow()
        expect(() => take(open('a'), open('b'), named(close, 'a'), named(frame, 'b'))).not.toThrow()
      }
    },
  )

  it('are all closed by a `fail` without a session id, which is valid at any time', () => {
    const fail = closing[2] as Frame
    expect(() => take(fail)).not.toThrow()
    expect(() => take(open('a'), closing[0] as Frame, fail)).not.toThrow()
    for (const session of ['a', 'b']) {
      for (const frame of all)
        expect(() => take(open('a'), open('b'), fail, named(frame, session))).toThrow(
          notOpen(frame.type, `"${session}"`),
        )
      expect(() => take(open('a'), open('b'), fail, open(session), named(others[0] as Frame, session))).not.toThrow()
    }
  })

  it('have long ids shortened in errors', () => {
    expect(() => take(named(others[0] as Frame, 'x'.repeat(1000)))).toThrow(notOpen('entries', `"${'x'.repeat(39)}`))
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

  it('gives entries with an inherited origin the same origin object', () => {
    const frame = entries(0, 4, [entry(1), entry(2, { ...writer }), entry(3, guest), entry(4, { ...guest })])
    const reader = new FrameReader()
    reader.read(open('a'))
    const { entries: read } = reader.read(wire(packFrame(frame))) as EntriesFrame
    expect(read[1]?.origin).toBe(read[0]?.origin)
    expect(read[3]?.origin).toBe(read[2]?.origin)
    expect(read[2]?.origin).not.toBe(read[1]?.origin)
  })

  it('assigns a frame without a session id to the only session', () => {
    const reader = new FrameReader()
    const read = (frame: Frame) => reader.read({ ...frame, after: undefined } as WireFrame)
    reader.read(open('a'))
    reader.read(entries(0, 2))
    expect(read(entries(0, 3, [], 'a'))).toMatchObject({ after: 2 })
    expect(read(entries(0, 4))).toMatchObject({ after: 3 })
    reader.read(open('b'))
    expect(read(entries(0, 5, [], 'a'))).toMatchObject({ after: 4 })
  })

  it.each<[string, WireFrame, string]>([
    [
      'a first frame without `after`',
      { ...entries(0, 1), after: undefined },
      'after: expected one in the first frame, found undefined',
    ],
    ['a frame that goes back', entries(5, 4), 'sequence: expected at least 5, found 4'],
    ['an entry before the frame', entries(5, 6, [entry(5)]), 'entries[0].sequence: expected 6 to 6, found 5'],
    ['an entry past the frame', entries(5, 6, [entry(7)]), 'entries[0].sequence: expected 6 to 6, found 7'],
    ['an entry twice', entries(5, 9, [entry(7), entry(7)]), 'entries[1].sequence: expected 8 to 9, found 7'],
  ])('rejects %s', (_, frame, problem) => {
    const reader = new FrameReader()
    reader.read(open('a'))
    expect(() => reader.read(frame)).toThrow(invalid(`frame entries.${problem}`))
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
  ])('treats the frame (5, 8] at position %i as %s', (position, continuity) => {
    expect(continuityOf(entries(5, 8), position)).toBe(continuity)
  })

  it('treats a frame without `after` as a gap', () => {
    const { after: _, ...frame } = entries(7, 8)
    expect(continuityOf(frame as EntriesFrame, 7)).toBe('gap')
  })

  it('treats an empty frame as next', () => {
    expect(continuityOf(entries(5, 5), 5)).toBe('next')
  })

  it('treats `caught-up` as a gap if the replay was incomplete', () => {
    const caughtUp: Frame = { type: 'caught-up', sequence: 8, cursor: '8' }
    expect([7, 8, 9].map(position => continuityOf(caughtUp, position))).toEqual(['gap', 'next', 'next'])
  })

  it('law 2: a client that applies next frames and reconnects otherwise gets every entry once', () => {
    const fault = fc.constantFrom('none', 'none', 'none', 'lose', 'twice', 'cut', 'again')
    const cuts = fc.array(fc.record({ size: fc.integer({ min: 0, max: 4 }), fault }), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), cuts, (head, plan) => {
        const sizes: number[] = []
        const steps = plan.values()
        let position = 0
        let connections = 0
        while (position < head) {
          // A server replays from the client's position or from before it. After the last fault it serves correctly.
          const frameWriter = new FrameWriter()
          const reader = new FrameReader()
          reader.read(frameWriter.write(open('a')))
          let at = connections++ % 2 === 0 ? position : Math.max(0, position - 2)
          let healthy = true
          while (healthy && at < head) {
            const { size, fault } = steps.next().value ?? { size: 5, fault: 'none' }
            const to = Math.min(head, at + size)
            const list = Array.from({ length: to - at }, (_, i) => entry(at + i + 1))
            const sent =
              fault === 'lose'
                ? []
                : fault === 'twice'
                  ? [entries(at, to, list), entries(at, to, list)]
                  : [entries(at, to, list)]
            at = fault === 'again' ? Math.max(0, to - 1) : to
            for (const frame of sent) {
              const read = reader.read(wire(frameWriter.write(frame))) as EntriesFrame
              const continuity = continuityOf(read, position)
              healthy &&= continuity === 'next' || continuity === 'duplicate'
              if (continuity !== 'next') continue
              sizes.push(...read.entries.map(({ sequence }) => sequence))
              position = read.sequence
            }
            healthy &&= fault !== 'cut'
          }
        }
        expect(sizes).toEqual(Array.from({ length: head }, (_, i) => i + 1))
      }),
      { numRuns: runs(200) },
    )
  })
})
