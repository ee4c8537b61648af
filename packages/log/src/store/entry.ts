// Encoding of a batch as the text that a store keeps. An entry with the same origin as the entry before it omits it.
// Sequence and timestamp belong to the batch.

import type { Chunk, Entry, Origin } from '@millrace/protocol'
import { LogError } from './log-error.ts'
import type { Batch, StoredBatch } from './log-store.ts'

/** An entry without sequence and timestamp, which the store assigns. */
export type NewEntry = Omit<Entry, 'sequence' | 'timestamp'>

/**
 * Encodes entries as one batch.
 *
 * @throws LogError `invalid` if a chunk is not JSON.
 */
export function encodeBatch(entries: readonly NewEntry[]): Batch {
  try {
    return { body: textOf(entries), count: entries.length }
  } catch (error) {
    const found = error instanceof RangeError ? 'a value that is nested too deeply' : 'a cycle or a BigInt'
    throw new LogError('invalid', `chunk: expected JSON, found ${found}`, { cause: error })
  }
}

function textOf(entries: readonly NewEntry[]): string {
  // Joined, so that a store keeps a flat string and not a rope of its pieces.
  const texts: string[] = []
  let origin: Origin | undefined
  let previous = ''
  for (const entry of entries) {
    let text = '{'
    if (entry.origin !== origin) {
      origin = entry.origin
      const originJson = JSON.stringify(origin)
      if (originJson !== previous) text = `{"origin":${originJson},`
      previous = originJson
    }
    if (entry.internal) text += '"internal":true,'
    if (entry.blobs) text += `"blobs":${JSON.stringify(entry.blobs)},`
    texts.push(`${text}"chunk":${JSON.stringify(entry.chunk)}}`)
  }
  return `[${texts.join(',')}]`
}

/** Decodes the entries of a batch. */
export function decodeBatch({ first, last, timestamp, body }: StoredBatch): Entry[] {
  const written = JSON.parse(body) as { origin?: Origin; chunk: Chunk; internal?: true; blobs?: Entry['blobs'] }[]
  const count = last - first + 1
  const entries: Entry[] = []
  let origin: Origin | undefined
  for (let i = 0; i < count; i++) {
    const { chunk, internal, blobs, origin: entryOrigin } = written[i] as (typeof written)[number]
    if (entryOrigin !== undefined) origin = entryOrigin
    const entry: Entry = { sequence: first + i, timestamp, origin: origin as Origin, chunk }
    if (internal) entry.internal = true
    if (blobs) entry.blobs = blobs
    entries.push(entry)
  }
  return entries
}
