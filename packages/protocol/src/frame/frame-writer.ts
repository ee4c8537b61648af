// What a frame leaves out on the wire because the reader can tell it from what came before: the `after` that is the previous frame's
// sequence, and the origin that is the previous entry's. Writer and reader live here together so that they cannot drift.

import { type Origin, sameFields } from '../entry/entry.ts'
import { mismatch, show } from '../error/protocol-error.ts'
import type { Frame, WireEntry, WireFrame } from './frame.ts'

/** How a frame lies to what a client has: only the next one is applied; after a gap or an overlap the client asks again from its cursor. */
export type Continuity = 'next' | 'duplicate' | 'overlap' | 'gap'

/**
 * Leaves out internal entries (law 10: here is the last place that could let one go), origins that repeat, and an `after` that is the
 * `last` sequence.
 */
export function packFrame(frame: Frame, last?: number | null): WireFrame {
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

function refuse(field: string, expected: string, found: unknown): never {
  throw mismatch('invalid-frame', `frame ${field}`, expected, found)
}

/** Where a connection is in each of its sessions, and with that, which frames may come. */
class Sessions {
  // The sequence of the last entries; null where a session opened and none came yet, undefined where it closed.
  readonly #sequences = new Map<string | undefined, number | null | undefined>()

  /** Takes the next frame, and says where its session was before. */
  move(frame: WireFrame): number | null | undefined {
    const { type } = frame
    const sequences = this.#sequences
    let { sessionId } = frame
    if (sessionId === undefined) {
      if (type === 'fail') {
        for (const known of sequences.keys()) sequences.set(known, undefined)
        return undefined
      }
      if (sequences.size > 1) refuse(`${type}.sessionId`, 'one where several share a connection', sessionId)
      ;[sessionId] = sequences.keys()
    }
    const last = sequences.get(sessionId)
    const alone = (type === 'truncated' || type === 'fail') && !sequences.has(sessionId)
    if (type === 'open') {
      sequences.delete(undefined) // The session of a `truncated` that came alone, without a name.
      sequences.set(sessionId, null)
    } else if (last === undefined && !alone) refuse(`${type}.sessionId`, 'one that is open', show(sessionId))
    else if (type === 'entries') sequences.set(sessionId, frame.sequence)
    else if (type !== 'caught-up' && type !== 'status') sequences.set(sessionId, undefined)
    return last
  }
}

/** Prepares the frames of one connection for its wire, in order; refuses those of a session that is not open. */
export class FrameWriter {
  readonly #sessions = new Sessions()

  write(frame: Frame): WireFrame {
    return packFrame(frame, this.#sessions.move(frame))
  }
}

/** Restores the frames of one connection, in order: every `entries` frame has its `after`, every entry its origin. */
export class FrameReader {
  readonly #sessions = new Sessions()

  /** Completes a checked frame in place; one that may not come now, and entries outside of `(after, sequence]` or out of order, are refused. */
  read(frame: WireFrame): Frame {
    const last = this.#sessions.move(frame)
    if (frame.type !== 'entries') return frame
    frame.after ??= last ?? refuse('entries.after', 'one in the first frame', undefined)
    const { sequence, entries } = frame
    let { after } = frame
    if (sequence < after) refuse('entries.sequence', `at least ${after}`, sequence)
    let origin: Origin | undefined
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as WireEntry
      if (entry.sequence <= after || entry.sequence > sequence)
        refuse(`entries.entries[${i}].sequence`, `${after + 1} to ${sequence}`, entry.sequence)
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
