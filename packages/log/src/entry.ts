// How a batch of entries is written as the text that a store keeps, and read back. An entry whose origin is that of the entry before it
// leaves it out; sequence and timestamp are the batch's.

import type { Chunk, Entry, Origin } from '@millrace/protocol'
import { LogError } from './error.ts'
import type { Batch, StoredBatch } from './store.ts'

/** An entry that has no place yet. */
export type NewEntry = Omit<Entry, 'sequence' | 'timestamp'>

/** Writes entries as one batch; what is not JSON is refused. */
export function encodeBatch(entries: readonly NewEntry[]): Batch {
  let body = ''
  let origin: Origin | undefined
  let said = ''
  try {
    for (const entry of entries) {
      body += body === '' ? '[{' : ',{'
      if (entry.origin !== origin) {
        const text = JSON.stringify(entry.origin)
        if (text !== said) body += `"origin":${text},`
        origin = entry.origin
        said = text
      }
      if (entry.internal) body += '"internal":true,'
      if (entry.blobs) body += `"blobs":${JSON.stringify(entry.blobs)},`
      body += `"chunk":${JSON.stringify(entry.chunk)}}`
    }
  } catch (error) {
    throw new LogError('invalid', 'a chunk must be JSON: it holds a cycle or a BigInt', { cause: error })
  }
  return { body: `${body}]`, count: entries.length }
}

/** Reads the entries of a batch, in their places. */
export function decodeBatch({ first, last, timestamp, body }: StoredBatch): Entry[] {
  const written = JSON.parse(body) as { origin?: Origin; chunk: Chunk; internal?: true; blobs?: Entry['blobs'] }[]
  const count = last - first + 1
  const entries: Entry[] = []
  let origin: Origin | undefined
  for (let i = 0; i < count; i++) {
    const { chunk, internal, blobs, origin: own } = written[i] as (typeof written)[number]
    if (own !== undefined) origin = own
    const entry: Entry = { sequence: first + i, timestamp, origin: origin as Origin, chunk }
    if (internal) entry.internal = true
    if (blobs) entry.blobs = blobs
    entries.push(entry)
  }
  return entries
}
