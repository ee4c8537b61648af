// What a frame leaves out on the wire because the reader can tell it from what came before: the `after` that is the previous frame's
// sequence, and the origin that is the previous entry's. Writer and reader live here together so that they cannot drift; both hold one
// number a session and nothing else.

import type { Entry, Origin } from '../entry.ts'
import { ProtocolError } from '../error.ts'
import type { EntriesFrame, Frame } from '../frame.ts'

/** An entry as a frame carries it: without an origin it has that of the entry before. */
export type WireEntry = Omit<Entry, 'origin'> & { origin?: Origin | undefined }

/** A frame as a connection carries it. */
export type WireFrame =
  | Exclude<Frame, EntriesFrame>
  | (Omit<EntriesFrame, 'after' | 'entries'> & { after?: number | undefined; entries: WireEntry[] })

/** How a frame lies to what a client has: only the next one is applied; after a gap or an overlap the client asks again from its cursor. */
export type Continuity = 'next' | 'duplicate' | 'overlap' | 'gap'

/** Origins are flat; a value that is not, of a later version, counts as different and is written out. */
function sameOrigin(a: Origin, b: Origin): boolean {
  if (a === b) return true
  const keys = Object.keys(a) as (keyof Origin)[]
  return keys.length === Object.keys(b).length && keys.every(key => Object.hasOwn(b, key) && a[key] === b[key])
}

/** Leaves out internal entries (law 10: here is the last place that could let one go) and origins that repeat. */
export function packFrame(frame: Frame): WireFrame {
  if (frame.type !== 'entries' || (frame.entries.length === 1 && !frame.entries[0]?.internal)) return frame
  const entries: WireEntry[] = []
  let origin: Origin | undefined
  for (const entry of frame.entries) {
    if (entry.internal) continue
    const repeats = origin !== undefined && sameOrigin(origin, entry.origin)
    // Undefined, not deleted: a copy of the same shape is fast, and JSON leaves it out.
    entries.push(repeats ? { ...entry, origin: undefined } : entry)
    origin = entry.origin
  }
  return { ...frame, entries }
}

/** The last sequence that a connection carried of each session. */
class Positions {
  readonly #sequences = new Map<string | undefined, number>()
  #only: string | undefined
  #several = false

  /** Starts a session afresh: its next frame has nothing before it. */
  open(session: string): void {
    this.#several ||= this.#only !== undefined && this.#only !== session
    this.#only = session
    this.#sequences.delete(session)
  }

  /** Moves a session on, and says where it was. */
  move({ session, sequence }: { session?: string; sequence: number }): number | undefined {
    if (session === undefined && this.#several) refuse('session: expected string where sessions share a connection')
    const key = session ?? this.#only
    const last = this.#sequences.get(key)
    this.#sequences.set(key, sequence)
    return last
  }
}

function refuse(problem: string): never {
  throw new ProtocolError('invalid-frame', `frame entries.${problem}`)
}

const noAfter = 'after: expected integer in the first frame of a session, found undefined'

/** Prepares the frames of one connection for its wire, in order. */
export class FrameWriter {
  readonly #positions = new Positions()

  write(frame: Frame): WireFrame {
    if (frame.type === 'open') this.#positions.open(frame.session)
    if (frame.type !== 'entries') return frame
    const packed = packFrame(frame)
    const last = this.#positions.move(frame)
    if (last === undefined && frame.after === undefined) refuse(noAfter)
    return frame.after === last ? ({ ...packed, after: undefined } as WireFrame) : packed
  }
}

/** Restores the frames of one connection, in order: every `entries` frame has its `after`, every entry its origin. */
export class FrameReader {
  readonly #positions = new Positions()

  /** Completes a checked frame in place; entries that lie outside of `(after, sequence]` or out of order are refused. */
  read(frame: WireFrame): Frame {
    if (frame.type === 'open') this.#positions.open(frame.session)
    if (frame.type !== 'entries') return frame
    const last = this.#positions.move(frame)
    frame.after ??= last ?? refuse(noAfter)
    if (frame.sequence < frame.after) refuse(`sequence: expected at least ${frame.after}, found ${frame.sequence}`)
    let { after, entries } = frame
    let origin: Origin | undefined
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as WireEntry
      if (entry.sequence <= after || entry.sequence > frame.sequence)
        refuse(`entries[${i}].sequence: expected ${after + 1} to ${frame.sequence}, found ${entry.sequence}`)
      after = entry.sequence
      // The same object, so that whoever compares origins by identity sees one.
      if (entry.origin === undefined) entry.origin = origin
      else origin = entry.origin
    }
    return frame as Frame
  }
}

/** Tells how a frame that was read lies to a client which has all up to `position`; what cannot be proven is a gap. */
export function continuityOf(frame: Frame, position: number): Continuity {
  if (frame.type === 'caught-up') return frame.sequence > position ? 'gap' : 'next'
  if (frame.type !== 'entries' || frame.after === position) return 'next'
  if (frame.after === undefined || frame.after > position) return 'gap'
  return frame.sequence > position ? 'overlap' : 'duplicate'
}
