// Large values that the fold never looks into go to the store's blobs by hash (law 6): tool outputs, files, what a hook returned, context.
// Their place in the chunk holds `null`, or an empty text where the catalogue wants text, and the entry says where they went, so that nobody's data
// can pose as a reference.

import { createHash } from 'node:crypto'
import type { Chunk, Entry, Json } from '@millrace/protocol'
import type { NewEntry } from './entry.ts'
import { LogError } from './log-error.ts'
import type { LogStore } from './log-store.ts'

/** The field of each such type. */
const FIELDS: { readonly [type: string]: string } = {
  'tool-output-available': 'output',
  file: 'url',
  'hook-completed': 'result',
  'run-context': 'context',
}

/** Stands before the hash of what an internal entry carries: the mark goes along with the value, so that nobody has to look for the entry to know it (law 10). */
const INTERNAL = 'internal-'

/** Whether a blob is of a public entry, by its hash alone. */
export const isPublicBlob = (hash: string): boolean => /^[0-9a-f]{64}$/.test(hash)

/** A value on its way to the blobs. */
export interface NewBlob {
  readonly hash: string
  readonly data: Uint8Array
}

/** Takes a value of more than so many bytes out of an entry; the same entry if there is none. */
export function extract(entry: NewEntry, aboveBytes: number): { entry: NewEntry; blob?: NewBlob } {
  const field = FIELDS[entry.chunk.type]
  const value = field === undefined ? undefined : (entry.chunk as unknown as Record<string, Json>)[field]
  if (field === undefined || value === undefined) return { entry }
  const text = JSON.stringify(value)
  // A value that is no JSON is refused where the entry is encoded.
  if (text === undefined || text.length * 3 <= aboveBytes) return { entry }
  const data = Buffer.from(text)
  if (data.length <= aboveBytes) return { entry }
  const hash = `${entry.internal ? INTERNAL : ''}${createHash('sha256').update(data).digest('hex')}`
  const chunk = { ...entry.chunk, [field]: typeof value === 'string' && field === 'url' ? '' : null } as Chunk
  return { entry: { ...entry, chunk, blobs: { [`/${field}`]: { hash, bytes: data.length } } }, blob: { hash, data } }
}

/** The entry with its values back in their places, as a model or a dialect needs it. */
export async function resolve(store: LogStore, streamId: string, entry: Entry): Promise<Entry> {
  if (entry.blobs === undefined) return entry
  const { blobs, ...rest } = entry
  const chunk = { ...entry.chunk } as Record<string, unknown>
  for (const [pointer, { hash }] of Object.entries(blobs)) {
    const data = await store.getBlob(streamId, hash)
    if (data === undefined) {
      throw new LogError('absent', `the blob ${hash} of entry ${entry.sequence} is not there: was the log removed?`)
    }
    chunk[pointer.slice(1)] = JSON.parse(Buffer.from(data).toString())
  }
  return { ...rest, chunk: chunk as unknown as Chunk }
}
