// The compression of frames on the wire: an `after` is omitted if it equals the previous `sequence`, and an origin if it equals the
// previous origin. Writer and reader are in one file because they must match.

import { type Origin, sameFields } from '../entry/entry.ts'
import { mismatch, show } from '../error/protocol-error.ts'
import type { Frame, WireEntry, WireFrame } from './frame.ts'

/** The position of a frame relative to a client: only `next` is applied. After a `gap` or `overlap` the client reconnects from its cursor. */
export type Continuity = 'next' | 'duplicate' | 'overlap' | 'gap'

/**
 * Omits internal entries (law 10: this is the last check before the wire), repeated origins, and an `after` that equals the `last`
 * sequence.
 */
export function packFrame(frame: Frame, last?: number | null): WireFrame {
  if (frame.type !== 'entries') return frame
  const entries: WireEntry[] = []
  let origin: Origin | undefined
  for (const entry of frame.entries) {
    if (entry.internal) continue
    // Set to undefined and not deleted: the copy keeps its shape, which is faster, and JSON omits it.
    entries.push(origin && sameFields(origin, entry.origin) ? { ...entry, origin: undefined } : entry)
    origin = entry.origin
  }
  return { ...frame, after: frame.after === last ? undefined : frame.after, entries }
}

function reject(field: string, expected: string, found: unknown): never {
  throw mismatch('invalid-frame', `frame ${field}`, expected, found)
}

/** The position of a connection in each of its sessions. Rejects frames that are not allowed there. */
class SessionPositions {
  // The sequence of the last `entries` frame; null for an open session without one, undefined for a closed session.
  readonly #sequences = new Map<string | undefined, number | null | undefined>()

  /** Advances by a frame and returns the previous position of its session. */
  move(frame: WireFrame): number | null | undefined {
    const { type } = frame
    const sequences = this.#sequences
    let { sessionId } = frame
    if (sessionId === undefined) {
      if (type === 'fail') {
        for (const id of sequences.keys()) sequences.set(id, undefined)
        return undefined
      }
      if (sequences.size > 1) reject(`${type}.sessionId`, 'the id of a session', sessionId)
      ;[sessionId] = sequences.keys()
    }
    const last = sequences.get(sessionId)
    const isOnlyFrame = (type === 'truncated' || type === 'fail') && !sequences.has(sessionId)
    if (type === 'open') {
      sequences.delete(undefined) // The session of a `truncated` without a `sessionId`.
      sequences.set(sessionId, null)
    } else if (last === undefined && !isOnlyFrame)
      reject(`${type}.sessionId`, 'the id of an open session', show(sessionId))
    else if (type === 'entries') sequences.set(sessionId, frame.sequence)
    else if (type !== 'caught-up' && type !== 'status') sequences.set(sessionId, undefined)
    return last
  }
}

/** Compresses the frames of one connection, in order. Rejects frames of a session that is not open. */
export class FrameWriter {
  readonly #sessions = new SessionPositions()

  /** Compresses a frame. @throws ProtocolError if its session is not open. */
  write(frame: Frame): WireFrame {
    return packFrame(frame, this.#sessions.move(frame))
  }
}

/** Restores the frames of one connection, in order: every `entries` frame gets its `after`, every entry its origin. */
export class FrameReader {
  readonly #sessions = new SessionPositions()

  /** Completes a valid frame in place. Rejects a frame of a closed session, and entries outside `(after, sequence]` or out of order. */
  read(frame: WireFrame): Frame {
    const last = this.#sessions.move(frame)
    if (frame.type !== 'entries') return frame
    frame.after ??= last ?? reject('entries.after', 'one in the first frame', undefined)
    const { sequence, entries } = frame
    let { after } = frame
    if (sequence < after) reject('entries.sequence', `at least ${after}`, sequence)
    let origin: Origin | undefined
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as WireEntry
      if (entry.sequence <= after || entry.sequence > sequence)
        reject(`entries.entries[${i}].sequence`, `${after + 1} to ${sequence}`, entry.sequence)
      after = entry.sequence
      // Reuses the object, so that origins can be compared by identity.
      origin = entry.origin ??= origin
    }
    return frame as Frame
  }
}

/** Compares a restored frame with a client that has all entries up to `position`. */
export function continuityOf(frame: Frame, position: number): Continuity {
  if (frame.type === 'caught-up') return frame.sequence > position ? 'gap' : 'next'
  if (frame.type !== 'entries' || frame.after === position) return 'next'
  // Not `>`: a missing `after` must be a gap.
  if (!(frame.after <= position)) return 'gap'
  return frame.sequence > position ? 'overlap' : 'duplicate'
}
