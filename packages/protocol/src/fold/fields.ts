import { catalogue } from '../catalogue/catalogue.ts'
import type { Chunk, ChunkType } from '../catalogue/chunk.ts'
import type { Entry } from '../entry/entry.ts'
import type { PartBase } from './view.ts'

/** What a chunk says beside its type; fields of later versions are kept, but for those that only an entry may say. */
export function bodyOf<T extends { type: string }>(chunk: T): Omit<T, 'type'> {
  const { type, blobs, ...body } = chunk as T & { blobs?: unknown }
  return body as Omit<T, 'type'>
}

/** The named fields of an object, without those that it lacks. */
export function pick<T extends object, K extends keyof T & string>(from: T, ...keys: K[]): Pick<T, K> {
  const picked: Partial<T> = {}
  for (const key of keys) if (from[key] !== undefined) picked[key] = from[key]
  return picked as Pick<T, K>
}

/** What a chunk says in the fields that its row of the catalogue names. */
export function fieldsOf<T extends Chunk & { type: ChunkType }>(chunk: T): Omit<T, 'type'> {
  return pick(chunk, ...(Object.keys(catalogue[chunk.type].fields) as (keyof T & string)[])) as Omit<T, 'type'>
}

/** Where the large values of a part went: those of before that are kept, and more. */
export function blobsOf({ blobs }: PartBase, keeps: (pointer: string) => boolean, more?: Entry['blobs']) {
  const kept = Object.entries(blobs ?? {}).filter(([pointer]) => keeps(pointer))
  const all = { ...Object.fromEntries(kept), ...more }
  return Object.keys(all).length ? { blobs: all } : {}
}

/** Two names as one: another for every two of them, whatever they are. */
export const joinNames = (first: string, mark: string, second: string): string =>
  `${first.replace(/[%:]/g, encodeURIComponent)}${mark}${second}`
