// What an event does not say of the chunk that it stands for goes along beside it, in a place where the dialect lets others put something. The
// encoder asks what the decoder would make of the event by itself, and says the rest: so the two cannot drift.

import { type Chunk, type GuestOrigin, type Origin, validateChunk } from '@millrace/protocol'
import { expectObject, validated } from './validate.ts'

/** Beside an event: null, where it stands for no chunk; some fields that the chunk has besides; or all of the chunk, which has a `type`. */
export type Supplement = null | { readonly [field: string]: unknown }

/** What has to go along with an event that is understood as `plain`, for it to stand for a chunk; undefined where it does by itself. */
export function supplementOf(chunk: Chunk, plain: Chunk | undefined): Supplement | undefined {
  if (plain === undefined || plain.type !== chunk.type) return { ...chunk }
  const said = plain as unknown as Record<string, unknown>
  const meant = chunk as unknown as Record<string, unknown>
  let missing: Record<string, unknown> | undefined
  for (const key in meant) {
    if (said[key] === meant[key]) continue
    if (key in said) return { ...chunk }
    missing ??= {}
    missing[key] = meant[key]
  }
  for (const key in said) if (!(key in meant)) return { ...chunk }
  return missing
}

/** The chunk that an event stands for: as it is understood by itself, and what goes along with it. Throws a `ProtocolError` where that is none. */
export function chunkMeant(plain: Chunk | undefined, aside: Supplement | undefined): Chunk | undefined {
  if (aside === undefined) return plain && validated(plain)
  if (aside === null) return undefined
  const beside = expectObject(aside, 'event.millrace')
  if ('type' in beside) return validateChunk(beside)
  return plain && validated({ ...plain, ...beside } as Chunk)
}

/** What events have along with them of who wrote the chunk that they stand for, where it was no agent of the run. */
export interface GuestSigned {
  readonly millraceOrigin?: GuestOrigin
}

/** Some events that say a chunk, with who wrote it, where it was a guest. */
export function withGuestOrigin<Event extends GuestSigned>(
  events: readonly Event[],
  origin: Origin | undefined,
): readonly Event[] {
  if (origin?.guest === undefined) return events
  return events.map(event =>
    (event as { millrace?: Supplement }).millrace === null ? event : { ...event, millraceOrigin: origin },
  )
}
