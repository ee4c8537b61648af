import type { Chunk } from '../catalogue/chunk.ts'
import { getOwn, isObject, type Json, type JsonObject, putOwn } from '../json/json.ts'
import { MAX_JSON_DEPTH } from '../json/json-parser.ts'
import { pick } from './fields.ts'
import type { Meta, PartBase } from './view.ts'

/** Merges objects deeply; anything else, arrays and what lies too deep too, replaces what was there. */
function merge(into: JsonObject | undefined, from: JsonObject, depth = 0): JsonObject {
  const merged: JsonObject = { ...into }
  for (const key of Object.keys(from)) {
    const value = from[key] as Json
    const old = getOwn(merged, key)
    const deep = isObject(old) && isObject(value) && depth < MAX_JSON_DEPTH
    putOwn(merged, key, deep ? merge(old, value, depth + 1) : value)
  }
  return merged
}

export type MetaChunk = Extract<Chunk, { type: 'start' | 'finish' | 'abort' | 'message-metadata' }>

/** What a message holds beside its parts, after a chunk. */
export function nextMeta(meta: Meta | undefined, chunk: MetaChunk, base: PartBase): Meta {
  const metadata = chunk.type === 'abort' ? undefined : chunk.metadata
  return {
    type: 'meta',
    ...meta,
    ...base,
    ...(metadata && { metadata: merge(meta?.metadata, metadata) }),
    ...(chunk.type === 'finish' && pick(chunk, 'finishReason')),
    ...(chunk.type === 'abort' && { aborted: true }),
  }
}
