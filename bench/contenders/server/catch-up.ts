// A late reader in another process reads a complete session over HTTP.
import { strictEqual } from 'node:assert/strict'
import type { Chunk } from '@millrace/protocol'
import { answer, batches } from '../../fixtures/text.ts'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import type { Backend } from '../log/target.ts'
import { type Address, checkReceived, expectedEntries, readersChild } from './session-server.ts'

/** Ours, merged or entry by entry; or durable streams, by SSE or in one response. */
export type CatchUpMode = 'merged' | 'entries' | 'events' | 'reply'

/** Entries per append. */
const SIZE = 16

const chunksOf = (count: number, workIndex: number): Chunk[] =>
  answer(count, workIndex).deltas.map(delta => ({ type: 'text-delta', id: 'text-1', delta }))

const ours = openOnce(async (backend: Backend, count: number, workIndex: number) =>
  (await import('./ours.ts')).storedSession(backend, batches(chunksOf(count, workIndex), SIZE)),
)

const durable = openOnce(async (storage: 'memory' | 'file', count: number, workIndex: number) => {
  const stream = await (await import('./durable.ts')).newStream(storage === 'file')
  for (const chunks of batches(chunksOf(count, workIndex), SIZE)) await stream.append(chunks)
  return stream.fromStart
})

async function addressOf(mode: CatchUpMode, isFile: boolean, count: number, workIndex: number): Promise<Address> {
  if (mode === 'merged' || mode === 'entries') {
    return (await ours(isFile ? 'sqlite-full' : 'memory', count, workIndex))(mode === 'merged')
  }
  return (await durable(isFile ? 'file' : 'memory', count, workIndex))(mode === 'events')
}

/** Reads a session of `count` entries. */
export async function catchUp(mode: CatchUpMode, isFile: boolean, count: number, workIndex: number): Promise<Job> {
  const address = await addressOf(mode, isFile, count, workIndex)
  const expected = expectedEntries(chunksOf(count, workIndex))
  return job(
    () => readersChild().request({ kind: 'catch-up', address }),
    ({ received }) => {
      // A merged reader gets fewer entries with the same text.
      const entries = mode === 'merged' ? (received[0]?.entries ?? 0) : expected.entries
      checkReceived(received, 1, { ...expected, entries })
      strictEqual(entries > 0, true)
    },
    undefined,
    ({ received, bytes }) => [`${received[0]?.entries} entries, ${bytes} bytes`],
  )
}
