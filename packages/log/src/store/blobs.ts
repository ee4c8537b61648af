// Large values that the fold never reads (tool outputs, files, hook results, context) go to the store's blobs by hash
// (law 6). The field in the chunk then holds `null`, or an empty string where the catalogue requires text. The
// entry's `blobs` field refers to the blob, so data inside a chunk cannot be taken for a reference.

import { createHash } from 'node:crypto'
import type { Chunk, Entry, Json } from '@millrace/protocol'
import type { NewEntry } from './entry.ts'
import { LogError } from './log-error.ts'
import type { LogStore } from './log-store.ts'

/** The field that may be moved to a blob, by chunk type. */
const FIELDS: { readonly [type: string]: string } = {
  'tool-output-available': 'output',
  file: 'url',
  'hook-completed': 'result',
  'run-context': 'context',
}

/**
 * Prefix of the hash of an internal entry's blob, so that the hash alone shows that the blob must not leave the
 * server (law 10).
 */
const INTERNAL = 'internal-'

/** Whether a blob belongs to a public entry. The hash alone decides it. */
export const isPublicBlob = (hash: string): boolean => /^[0-9a-f]{64}$/.test(hash)

/** A blob that is not stored yet. */
export interface NewBlob {
  readonly hash: string
  readonly data: Uint8Array
}

/** Moves a value larger than `aboveBytes` from the entry to a blob. Returns the same entry if there is none. */
export function extractBlob(entry: NewEntry, aboveBytes: number): { entry: NewEntry; blob?: NewBlob } {
  const field = FIELDS[entry.chunk.type]
  const value = field === undefined ? undefined : (entry.chunk as unknown as Record<string, Json>)[field]
  if (field === undefined || value === undefined) return { entry }
  const text = JSON.stringify(value)
  // `encodeBatch` rejects a value that is not JSON.
  if (text === undefined || text.length * 3 <= aboveBytes) return { entry }
  const data = Buffer.from(text)
  if (data.length <= aboveBytes) return { entry }
  const hash = `${entry.internal ? INTERNAL : ''}${createHash('sha256').update(data).digest('hex')}`
  const chunk = { ...entry.chunk, [field]: typeof value === 'string' && field === 'url' ? '' : null } as Chunk
  return { entry: { ...entry, chunk, blobs: { [`/${field}`]: { hash, bytes: data.length } } }, blob: { hash, data } }
}

/**
 * Returns the entry with the values of its blobs back in the chunk.
 *
 * @throws LogError `absent` if a blob is missing.
 */
export async function resolveBlobs(store: LogStore, streamId: string, entry: Entry): Promise<Entry> {
  if (entry.blobs === undefined) return entry
  const { blobs, ...rest } = entry
  const chunk = { ...entry.chunk } as Record<string, unknown>
  for (const [pointer, { hash }] of Object.entries(blobs)) {
    const data = await store.getBlob(streamId, hash)
    if (data === undefined) {
      throw new LogError(
        'absent',
        `the blob ${hash} of entry ${entry.sequence} is missing: the log was removed, or the store lost data`,
      )
    }
    chunk[pointer.slice(1)] = JSON.parse(Buffer.from(data).toString())
  }
  return { ...rest, chunk: chunk as unknown as Chunk }
}
