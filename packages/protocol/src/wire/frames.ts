// What a frame leaves out on the wire because the reader can tell it from what came before: the `after` that is the previous frame's
// sequence, and the origin that is the previous entry's. Writer and reader live here together so that they cannot drift.

import { type Origin, sameFields } from '../entry.ts'
import { ProtocolError } from '../error.ts'
import type { Frame, WireEntry, WireFrame } from '../frame.ts'

/** How a frame lies to what a client has: only the next one is applied; after a gap or an overlap the client asks again from its cursor. */
export type Continuity = 'next' | 'duplicate' | 'overlap' | 'gap'

/**
 * Leaves out internal entries (law 10: here is the last place that could let one go), origins that repeat, and an `after` that is the
 * `last` sequence.
 */
export function packFrame(frame: Frame, last?: number): WireFrame {
  if (frame.type !== 'entries') return frame
  const entries: WireEntry[] = []
  let origin: Origin | undefined
  for (const entry of frame.entries) {
    if (entry.internal) continue
    // Undefined, not deleted: a copy of the same shape is fast, and JSON leaves it out.
    entries.push(origin && sameFields(origin, entry.origin) ? { ...entry, origin: undefined } : entry)
    origin = entry.origin
  }
  return { ...frame, after: frame.after === last ? undefined : frame.after, entries }
}

function refuse(problem: string): never {
  throw new ProtocolError('invalid-frame', `frame entries.${problem}`)
}

/** The last sequence that a connection carried of each session. */
class Positions {
  readonly #sequences = new Map<string | undefined, number | undefined>()

  /** Moves a frame's session on, and says where it was; one that opens, or opens again, has been nowhere. */
  move(frame: WireFrame): number | undefined {
    if (frame.type === 'open') this.#sequences.set(frame.session, undefined)
    if (frame.type !== 'entries') return undefined
    let { session } = frame
    if (session === undefined) {
      if (this.#sequences.size > 1) refuse('session: expected string where sessions share a connection')
      ;[session] = this.#sequences.keys()
    }
    const last = this.#sequences.get(session)
    this.#sequences.set(session, frame.sequence)
    return last
  }
}

/** Prepares the frames of one connection for its wire, in order. */
export class FrameWriter {
  readonly #positions = new Positions()

  write(frame: Frame): WireFrame {
    return packFrame(frame, this.#positions.move(frame))
  }
}

/** Restores the frames of one connection, in order: every `entries` frame has its `after`, every entry its origin. */
export class FrameReader {
  readonly #positions = new Positions()

  /** Completes a checked frame in place; entries that lie outside of `(after, sequence]` or out of order are refused. */
  read(frame: WireFrame): Frame {
    const last = this.#positions.move(frame)
    if (frame.type !== 'entries') return frame
    frame.after ??= last ?? refuse('after: expected integer in the first frame of a session, found undefined')
    const { sequence, entries } = frame
    let { after } = frame
    if (sequence < after) refuse(`sequence: expected at least ${after}, found ${sequence}`)
    let origin: Origin | undefined
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as WireEntry
      if (entry.sequence <= after || entry.sequence > sequence)
        refuse(`entries[${i}].sequence: expected ${after + 1} to ${sequence}, found ${entry.sequence}`)
      after = entry.sequence
      // The same object, so that whoever compares origins by identity sees one.
      origin = entry.origin ??= origin
    }
    return frame as Frame
  }
}

/** Tells how a frame that was read lies to a client which has all up to `position`. */
export function continuityOf(frame: Frame, position: number): Continuity {
  if (frame.type === 'caught-up') return frame.sequence > position ? 'gap' : 'next'
  if (frame.type !== 'entries' || frame.after === position) return 'next'
  // Not `>`: what does not say where it begins proves nothing.
  if (!(frame.after <= position)) return 'gap'
  return frame.sequence > position ? 'overlap' : 'duplicate'
}
