// Validation of foreign input. A decoder checks every field that it reads and every chunk that it creates. Errors are `ProtocolError`s, so that they are
// not taken for a dropped connection.

import { type Chunk, type Origin, ProtocolError, validateChunk } from '@millrace/protocol'
import { checkOrigin, isObject } from '@millrace/protocol/internal'

/**
 * Validates a chunk.
 * @throws a `ProtocolError` that names the invalid field.
 */
export function validated(chunk: Chunk): Chunk {
  // Fast path: most chunks are deltas.
  if (chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') {
    const { id, delta, providerMetadata } = chunk
    if (typeof id === 'string' && typeof delta === 'string' && providerMetadata === undefined) return chunk
  }
  return validateChunk(chunk)
}

/**
 * Validates an optional origin.
 * @throws a `ProtocolError` if the value is not an origin.
 */
export function expectOrigin(value: unknown): Origin | undefined {
  if (value === undefined) return undefined
  const problem = checkOrigin(value)
  if (problem !== undefined) throw new ProtocolError('invalid-chunk', `origin${problem}`)
  return value as Origin
}

/** @throws a `ProtocolError` if the value is not a string. `path` names the field in the message. */
export function expectString(value: unknown, path: string): string {
  if (typeof value === 'string') return value
  throw unexpectedType('a string', value, path)
}

/** Like `expectString`, for an optional field. */
export const expectOptionalString = (value: unknown, path: string): string | undefined =>
  value === undefined ? undefined : expectString(value, path)

/** @throws a `ProtocolError` if the value is not an object. */
export function expectObject(value: unknown, path: string): { readonly [name: string]: unknown } {
  if (isObject(value)) return value
  throw unexpectedType('an object', value, path)
}

/** @throws a `ProtocolError` if the value is not an array. */
export function expectArray(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw unexpectedType('an array', value, path)
}

const unexpectedType = (expected: string, value: unknown, path: string): ProtocolError =>
  new ProtocolError('invalid-chunk', `${path}: expected ${expected}, found ${value === null ? 'null' : typeof value}`)
