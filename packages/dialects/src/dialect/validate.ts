// What another side says may be anything. A decoder looks at what it makes of that before it passes it on, and at what it has to read on the way: whatever is wrong is said
// as a `ProtocolError`, which nobody takes for a connection that broke.

import { type Chunk, checkOrigin, type Origin, ProtocolError, validateChunk } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'

/** A chunk that was understood; throws a `ProtocolError` that names the field where it is none. */
export function validated(chunk: Chunk): Chunk {
  // Most of what is said: not worth a look into the catalogue.
  if (chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') {
    const { id, delta, providerMetadata } = chunk
    if (typeof id === 'string' && typeof delta === 'string' && providerMetadata === undefined) return chunk
  }
  return validateChunk(chunk)
}

/** Who wrote something, where it is said; throws a `ProtocolError` where that is no origin. */
export function expectOrigin(value: unknown): Origin | undefined {
  if (value === undefined) return undefined
  const problem = checkOrigin(value)
  if (problem !== undefined) throw new ProtocolError('invalid-chunk', `origin${problem}`)
  return value as Origin
}

/** A text at a place of an event. */
export function expectString(value: unknown, place: string): string {
  if (typeof value === 'string') return value
  throw unexpected('a string', value, place)
}

/** A text at a place of an event, where there is something. */
export const expectOptionalString = (value: unknown, place: string): string | undefined =>
  value === undefined ? undefined : expectString(value, place)

/** An object at a place of an event. */
export function expectObject(value: unknown, place: string): { readonly [name: string]: unknown } {
  if (isObject(value)) return value
  throw unexpected('an object', value, place)
}

/** A list at a place of an event. */
export function expectArray(value: unknown, place: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw unexpected('an array', value, place)
}

const unexpected = (what: string, value: unknown, place: string): ProtocolError =>
  new ProtocolError('invalid-chunk', `${place}: expected ${what}, found ${value === null ? 'null' : typeof value}`)
