// What an event does not say of the chunk that it stands for goes along beside it, in a place where the dialect lets others put something. The
// encoder asks what the decoder would make of the event by itself, and says the rest: so the two cannot drift.

import { type Chunk, type GuestOrigin, type Origin, validateChunk } from '@millrace/protocol'
import { objectIn, sound } from './validate.ts'

/** Beside an event: null, where it stands for no chunk; some fields that the chunk has besides; or all of the chunk, which has a `type`. */
export type Aside = null | { readonly [field: string]: unknown }

/** What has to go along with an event that is understood as `plain`, for it to stand for a chunk; undefined where it does by itself. */
export function asideOf(chunk: Chunk, plain: Chunk | undefined): Aside | undefined {
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
export function meantBy(plain: Chunk | undefined, aside: Aside | undefined): Chunk | undefined {
  if (aside === undefined) return plain && sound(plain)
  if (aside === null) return undefined
  const beside = objectIn(aside, 'event.millrace')
  if ('type' in beside) return validateChunk(beside)
  return plain && sound({ ...plain, ...beside } as Chunk)
}

/** What events have along with them of who wrote the chunk that they stand for, where it was no agent of the run. */
export interface Signed {
  readonly millraceOrigin?: GuestOrigin
}

/** Some events that say a chunk, with who wrote it, where it was a guest. */
export function signed<Event extends Signed>(events: readonly Event[], origin: Origin | undefined): readonly Event[] {
  if (origin?.guest === undefined) return events
  return events.map(event =>
    (event as { millrace?: Aside }).millrace === null ? event : { ...event, millraceOrigin: origin },
  )
}
