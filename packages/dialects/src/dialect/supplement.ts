// A supplement holds the fields of a chunk that its event cannot express. It travels in a field that the dialect leaves free. The encoder decodes its
// own event and sends the difference, so encoder and decoder cannot drift apart.

import { type Chunk, type GuestOrigin, type Origin, validateChunk } from '@millrace/protocol'
import { expectObject, validated } from './validate.ts'

/** Null if the event represents no chunk. Otherwise the missing fields of the chunk, or the complete chunk, which has a `type`. */
export type Supplement = null | { readonly [field: string]: unknown }

/** The supplement for an event that decodes to `plain` without one. Undefined if `plain` equals the chunk. */
export function supplementOf(chunk: Chunk, plain: Chunk | undefined): Supplement | undefined {
  if (plain === undefined || plain.type !== chunk.type) return { ...chunk }
  const decoded = plain as unknown as Record<string, unknown>
  const expected = chunk as unknown as Record<string, unknown>
  let missing: Record<string, unknown> | undefined
  for (const key in expected) {
    if (decoded[key] === expected[key]) continue
    if (key in decoded) return { ...chunk }
    missing ??= {}
    missing[key] = expected[key]
  }
  for (const key in decoded) if (!(key in expected)) return { ...chunk }
  return missing
}

/**
 * Merges a supplement into the chunk that its event decodes to.
 * @throws a `ProtocolError` if the result is not a chunk.
 */
export function applySupplement(plain: Chunk | undefined, supplement: Supplement | undefined): Chunk | undefined {
  if (supplement === undefined) return plain && validated(plain)
  if (supplement === null) return undefined
  const fields = expectObject(supplement, 'event.millrace')
  if ('type' in fields) return validateChunk(fields)
  return plain && validated({ ...plain, ...fields } as Chunk)
}

/** An event with the origin of its chunk, if a guest wrote it. */
export interface WithGuestOrigin {
  readonly millraceOrigin?: GuestOrigin
}

/** Adds the origin to the events of a chunk, if a guest wrote it. */
export function withGuestOrigin<Event extends WithGuestOrigin>(
  events: readonly Event[],
  origin: Origin | undefined,
): readonly Event[] {
  if (origin?.guest === undefined) return events
  return events.map(event =>
    (event as { millrace?: Supplement }).millrace === null ? event : { ...event, millraceOrigin: origin },
  )
}
