// The frames of one connection, as a server writes them: valid one by one and in sequence.

import * as fc from 'fast-check'
import { arbitraryChunk, arbitraryOrigin } from '../catalogue/chunk.fixture.ts'
import type { Chunk } from '../catalogue/chunk.ts'
import type { Entry, Origin } from '../entry/entry.ts'
import { encodeCursor } from '../frame/cursor.ts'
import { type Frame, type OpenFrame, PROTOCOL_VERSION } from '../frame/frame.ts'

/** Any text: one to four bytes per character, with line ends and lone surrogates. */
const arbitraryText = (): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof(fc.constantFrom('\n', '\r\n', '\ud83d', '🌾', 'ß', '\u2028', '\ufeff', '漢'), fc.string()), {
      maxLength: 5,
    })
    .map(pieces => pieces.join(''))

const chunk: fc.Arbitrary<Chunk> = fc.oneof(
  arbitraryText().map((delta): Chunk => ({ type: 'text-delta', id: 't', delta })),
  arbitraryChunk(),
  fc.constant({ type: 'of-a-later-version', new: [1] } as unknown as Chunk),
)

/** Opens a session. */
export const open = (sessionId: string): OpenFrame => ({
  type: 'open',
  protocol: PROTOCOL_VERSION,
  sessionId,
  incarnation: 'i',
  head: 99,
  heartbeatMs: 15_000,
  cursor: encodeCursor({ sequence: 0, incarnation: 'i', epoch: 'e' }),
})

type Draft = {
  sessionIndex: number
  skip: number
  last: number
  reopens: boolean
  entries: { gap: number; origin: Origin; chunk: Chunk }[]
}

const draft = (sessions: number): fc.Arbitrary<Draft> =>
  fc.array(arbitraryOrigin(), { minLength: 1, maxLength: 2 }).chain(origins =>
    fc.record({
      sessionIndex: fc.nat(sessions - 1),
      skip: fc.oneof(fc.constant(0), fc.nat(3)),
      last: fc.nat(2),
      reopens: fc.nat(9).map(n => n === 0),
      entries: fc.array(fc.record({ gap: fc.nat(2), origin: fc.constantFrom(...origins), chunk }), { maxLength: 4 }),
    }),
  )

/** The frames of a connection with one session, with or without its id, or with several. */
export const arbitraryConnection = (): fc.Arbitrary<Frame[]> =>
  fc
    .integer({ min: 1, max: 3 })
    .chain(sessions => fc.tuple(fc.constant(sessions), fc.boolean(), fc.array(draft(sessions), { maxLength: 6 })))
    .map(([sessions, named, drafts]) => {
      const names = Array.from({ length: sessions }, (_, i) => `session-${i}`)
      const positions = names.map(() => 0)
      const cursor = (sequence: number) => encodeCursor({ sequence, incarnation: 'i', epoch: 'e' })
      const frames: Frame[] = names.map(open)
      for (const { sessionIndex, skip, last, reopens, entries: drafted } of drafts) {
        const session = named || sessions > 1 ? { sessionId: names[sessionIndex] as string } : {}
        const after = (positions[sessionIndex] as number) + skip
        let sequence = after
        const entries: Entry[] = drafted.map(({ gap, origin, chunk }) => {
          sequence += gap + 1
          return { sequence, timestamp: 1.5 + sequence, origin: { ...origin }, chunk }
        })
        sequence += last
        positions[sessionIndex] = sequence
        frames.push({ type: 'entries', ...session, after, sequence, entries, cursor: cursor(sequence) })
        if (last === 2) frames.push({ type: 'caught-up', ...session, sequence, cursor: cursor(sequence) })
        if (last === 1) frames.push({ type: 'status', ...session, status: 'paused' })
        if (reopens)
          frames.push({ type: 'end', ...session, status: 'paused', sequence }, open(names[sessionIndex] as string))
      }
      // JSON has no `-0` and no `undefined`.
      return JSON.parse(JSON.stringify(frames)) as Frame[]
    })
