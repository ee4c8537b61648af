// A late reader in another process reads a complete session over HTTP.
import { strictEqual } from 'node:assert/strict'
import type { Chunk } from '@millrace/protocol'
import { answer, batches } from '../../fixtures/text.ts'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import type { Backend } from '../log/target.ts'
import { type Address, checkGot, expectedOf, readersChild } from './served.ts'

/** Ours, merged or entry by entry; or durable streams, by SSE or in one response. */
export type Past = 'merged' | 'entries' | 'events' | 'reply'

/** Entries per append. */
const SIZE = 16

const chunksOf = (count: number, piece: number): Chunk[] =>
  answer(count, piece).deltas.map(delta => ({ type: 'text-delta', id: 'text-1', delta }))

const ours = openOnce(async (backend: Backend, count: number, piece: number) =>
  (await import('./ours.ts')).pastOurs(backend, batches(chunksOf(count, piece), SIZE)),
)

const durable = openOnce(async (place: 'memory' | 'file', count: number, piece: number) => {
  const stream = await (await import('./durable.ts')).newStream(place === 'file')
  for (const chunks of batches(chunksOf(count, piece), SIZE)) await stream.append(chunks)
  return stream.past
})

async function addressOf(past: Past, isFile: boolean, count: number, piece: number): Promise<Address> {
  if (past === 'merged' || past === 'entries') {
    return (await ours(isFile ? 'sqlite-full' : 'memory', count, piece))(past === 'merged')
  }
  return (await durable(isFile ? 'file' : 'memory', count, piece))(past === 'events')
}

/** Reads a session of `count` entries. */
export async function catchUp(past: Past, isFile: boolean, count: number, piece: number): Promise<Job> {
  const address = await addressOf(past, isFile, count, piece)
  const expected = expectedOf(chunksOf(count, piece))
  return job(
    () => readersChild().request({ kind: 'catch-up', address }),
    ({ got }) => {
      // A merged reader gets fewer entries with the same text.
      const entries = past === 'merged' ? (got[0]?.entries ?? 0) : expected.entries
      checkGot(got, 1, { ...expected, entries })
      strictEqual(entries > 0, true)
    },
    undefined,
    ({ got, bytes }) => [`${got[0]?.entries} entries, ${bytes} bytes`],
  )
}
