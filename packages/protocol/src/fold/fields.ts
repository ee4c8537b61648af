import { catalogue } from '../catalogue/catalogue.ts'
import type { Chunk, ChunkType } from '../catalogue/chunk.ts'
import type { Entry } from '../entry/entry.ts'
import type { PartBase } from './view.ts'

/** The fields of a chunk without its type. Unknown fields are kept, except `blobs`, which belongs to the entry. */
export function bodyOf<T extends { type: string }>(chunk: T): Omit<T, 'type'> {
  const { type, blobs, ...body } = chunk as T & { blobs?: unknown }
  return body as Omit<T, 'type'>
}

/** Copies the given fields of an object, except missing ones. */
export function pick<T extends object, K extends keyof T & string>(from: T, ...keys: K[]): Pick<T, K> {
  const picked: Partial<T> = {}
  for (const key of keys) if (from[key] !== undefined) picked[key] = from[key]
  return picked as Pick<T, K>
}

/** The fields of a chunk that its row of the catalogue lists. */
export function fieldsOf<T extends Chunk & { type: ChunkType }>(chunk: T): Omit<T, 'type'> {
  return pick(chunk, ...(Object.keys(catalogue[chunk.type].fields) as (keyof T & string)[])) as Omit<T, 'type'>
}

/** The blobs of a part: the earlier ones for which `keeps` is true, and `more`. */
export function blobsOf({ blobs }: PartBase, keeps: (pointer: string) => boolean, more?: Entry['blobs']) {
  const kept = Object.entries(blobs ?? {}).filter(([pointer]) => keeps(pointer))
  const all = { ...Object.fromEntries(kept), ...more }
  return Object.keys(all).length ? { blobs: all } : {}
}

/** Joins two names into one. Different pairs give different results. */
export const joinNames = (first: string, separator: string, second: string): string =>
  `${first.replace(/[%:]/g, encodeURIComponent)}${separator}${second}`
