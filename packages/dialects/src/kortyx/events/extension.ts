import type { DecodedChunk } from '../../dialect/dialect.ts'
import type { KortyxChunk } from '../types.ts'

/**
 * The `tool` of `tool-result` chunks that carry chunks that Kortyx has no type for. Kortyx has this type in its schema, but its servers never send
 * it and its clients ignore it.
 */
export const EXTENSION = 'millrace'

/** The content of an extension: the chunk, and its origin if it is from a sub-agent. */
export type KortyxExtension = Pick<DecodedChunk, 'chunk' | 'origin'>

/** Wraps a chunk that Kortyx has no type for. */
export function extension({ chunk, origin }: KortyxExtension): KortyxChunk {
  const content: KortyxExtension = { chunk, ...(origin && { origin }) }
  return { type: 'tool-result', tool: EXTENSION, content }
}
