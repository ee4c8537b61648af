import type { Chunk } from '../catalogue/chunk.ts'
import { type Json, type JsonObject, putOwn } from '../json/value.ts'
import type { Meta, PartBase } from './view.ts'

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Merges objects deeply; anything else, arrays too, replaces what was there. */
function merge(into: JsonObject | undefined, from: JsonObject): JsonObject {
  const merged: JsonObject = { ...into }
  for (const key of Object.keys(from)) {
    const value = from[key] as Json
    const old = Object.hasOwn(merged, key) ? merged[key] : undefined
    putOwn(merged, key, isObject(old) && isObject(value) ? merge(old, value) : value)
  }
  return merged
}

export type MetaChunk = Extract<Chunk, { type: 'start' | 'finish' | 'abort' | 'message-metadata' }>

/** What a message holds beside its parts, after a chunk. */
export function nextMeta(meta: Meta | undefined, chunk: MetaChunk, base: PartBase): Meta {
  const { metadata, finishReason } = chunk as { metadata?: JsonObject; finishReason?: Meta['finishReason'] }
  return {
    type: 'meta',
    ...meta,
    ...base,
    ...(metadata && { metadata: merge(meta?.metadata, metadata) }),
    ...(finishReason && { finishReason }),
    ...(chunk.type === 'abort' && { aborted: true }),
  }
}
