import { type Json, type JsonObject, putOwn } from '../json/value.ts'

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Merges objects deeply; anything else, arrays too, replaces what was there. */
export function mergeMetadata(into: JsonObject | undefined, from: JsonObject): JsonObject {
  const merged: JsonObject = { ...into }
  for (const key of Object.keys(from)) {
    const value = from[key] as Json
    const old = Object.hasOwn(merged, key) ? merged[key] : undefined
    putOwn(merged, key, isObject(old) && isObject(value) ? mergeMetadata(old, value) : value)
  }
  return merged
}
