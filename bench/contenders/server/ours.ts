// Our server as an application uses it, with a writer in the same process.
import { randomUUID } from 'node:crypto'
import type { LogStore, StreamManager, Writer } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import { OWN_FILE, openStore } from '../log/ours.ts'
import type { Backend } from '../log/target.ts'
import { type Address, ORIGIN, type SessionServer } from './session-server.ts'

/** Longer than any measurement, so that the lease is never renewed during one. */
const LEASE_MS = 600_000

interface LogServer {
  readonly store: LogStore
  readonly manager: StreamManager
  readonly port: number
}

/** A server on a store, one per process, without a driver. */
export const openLogServer = openOnce(async (backend: Backend): Promise<LogServer> => {
  const { millrace } = await import('@millrace/server')
  const store = await openStore(backend, OWN_FILE)
  const logger = { warn: () => {}, error: (...args: unknown[]) => console.error(...args) }
  const limits = { streams: 10_000, requestsPerMinute: 1e9 }
  const app = millrace({ store, engine: false, log: { leaseMs: LEASE_MS }, limits, logger })
  const { port, close } = await app.listen({ port: 0 })
  onCleanup(close)
  return { store, manager: (await app.runtime()).manager, port }
})

/** Creates a session with a started run. */
export async function startedWriter(manager: StreamManager): Promise<Writer> {
  const writer = await manager.createWriter(`bench-${randomUUID()}`, { runId: 'run-1', agentType: 'writer', step: 1 })
  await writer.commit([{ type: 'start' }])
  return writer
}

/** Address of a session from the position of its writer. */
export const liveAddress = (port: number, { streamId, cursor }: Writer): Address => {
  return { port, path: `/api/sessions/${streamId}/stream?after=${cursor.sequence}`, format: 'ours' }
}

/** A new session on a store. Several chunks are one commit. */
export async function serveOurs(backend: Backend): Promise<SessionServer> {
  const { manager, port } = await openLogServer(backend)
  const writer = await startedWriter(manager)
  return {
    live: liveAddress(port, writer),
    async append(chunks) {
      if (chunks.length === 1) {
        writer.write(chunks[0] as Chunk)
        return
      }
      const { outcome } = await writer.commit(chunks)
      if (outcome !== 'appended') throw new Error(`commit: expected appended, found ${outcome}`)
    },
  }
}

/** A session with the given batches of chunks, unmerged, and its address from the start. */
export async function storedSession(
  backend: Backend,
  batches: readonly (readonly Chunk[])[],
): Promise<(merge: boolean) => Address> {
  const { store, manager, port } = await openLogServer(backend)
  const writer = await startedWriter(manager)
  const { streamId } = writer
  let lastAcked = writer.cursor
  await writer.close()
  // Written through the store, because a writer would merge them.
  const claim = await store.claim(streamId, 'bench', LEASE_MS, true)
  if (claim.outcome !== 'claimed') throw new Error(`claim: expected claimed, found ${claim.outcome}`)
  const { epoch } = claim
  let counter = 0
  for (const chunks of batches) {
    const body = JSON.stringify(chunks.map((chunk, i) => (i === 0 ? { origin: ORIGIN, chunk } : { chunk })))
    const by = { epoch, counter: ++counter, lastAcked }
    const result = await store.append(streamId, { body, count: chunks.length }, by)
    if (result.outcome !== 'appended') throw new Error(`append: expected appended, found ${result.outcome}`)
    lastAcked = { sequence: result.last, incarnation: lastAcked.incarnation, epoch }
  }
  const from = lastAcked.sequence - batches.flat().length
  return merge => ({ port, path: `/api/sessions/${streamId}/stream?after=${from}&merge=${merge}`, format: 'ours' })
}
