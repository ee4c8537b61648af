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

const chunksOf = (count: number, workIndex: number): Chunk[] =>
  answer(count, workIndex).deltas.map(delta => ({ type: 'text-delta', id: 'text-1', delta }))

const ours = openOnce(async (backend: Backend, count: number, workIndex: number) =>
  (await import('./ours.ts')).pastOurs(backend, batches(chunksOf(count, workIndex), SIZE)),
)

const durable = openOnce(async (storage: 'memory' | 'file', count: number, workIndex: number) => {
  const stream = await (await import('./durable.ts')).newStream(storage === 'file')
  for (const chunks of batches(chunksOf(count, workIndex), SIZE)) await stream.append(chunks)
  return stream.past
})

async function addressOf(past: Past, isFile: boolean, count: number, workIndex: number): Promise<Address> {
  if (past === 'merged' || past === 'entries') {
    return (await ours(isFile ? 'sqlite-full' : 'memory', count, workIndex))(past === 'merged')
  }
  return (await durable(isFile ? 'file' : 'memory', count, workIndex))(past === 'events')
}

/** Reads a session of `count` entries. */
export async function catchUp(past: Past, isFile: boolean, count: number, workIndex: number): Promise<Job> {
  const address = await addressOf(past, isFile, count, workIndex)
  const expected = expectedOf(chunksOf(count, workIndex))
  return job(
    () => readersChild().request({ kind: 'catch-up', address }),
    ({ received }) => {
      // A merged reader gets fewer entries with the same text.
      const entries = past === 'merged' ? (received[0]?.entries ?? 0) : expected.entries
      checkGot(received, 1, { ...expected, entries })
      strictEqual(entries > 0, true)
    },
    undefined,
    ({ received, bytes }) => [`${received[0]?.entries} entries, ${bytes} bytes`],
  )
}
