// Our server with a session of `messages` messages, and a writer that appends an answer.
import { randomUUID } from 'node:crypto'
import { memoryStore } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'
import { millrace } from '@millrace/server'
import { emitPaced, type PacedDeltas } from '../../fixtures/paced.ts'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import type { ServedPage } from './page.ts'

/** Longer than any measurement, so that the lease is never renewed during one. */
const LEASE_MS = 600_000

const openServer = openOnce(async (folder: string) => {
  const logger = { warn: () => {}, error: (...args: unknown[]) => console.error(...args) }
  const limits = { streams: 1000, requestsPerMinute: 1e9 }
  const app = millrace({
    store: memoryStore(),
    engine: false,
    log: { leaseMs: LEASE_MS },
    limits,
    logger,
    static: folder,
  })
  const { url, close } = await app.listen({ port: 0 })
  onCleanup(close)
  return { url, manager: (await app.runtime()).manager }
})

/** Creates a session of `messages` messages. */
export async function serveOurs(folder: string, messages: number, paced: PacedDeltas): Promise<ServedPage> {
  const { url, manager } = await openServer(folder)
  const runId = randomUUID()
  const writer = await manager.createWriter(`page-${randomUUID()}`, { runId, agentType: 'writer', step: 1 })
  const earlier = Array.from({ length: messages }, (_, i): Chunk => {
    const role = i % 2 ? 'assistant' : 'user'
    const parts = [{ type: 'text' as const, text: `What the mill said for the ${i}th time.` }]
    return { type: 'message', messageId: `message-${i}`, role, parts }
  })
  const { outcome } = await writer.commit(earlier)
  if (outcome !== 'appended') throw new Error(`commit of the history: expected appended, found ${outcome}`)
  return {
    url: `${url}/?session=${writer.streamId}`,
    async answer() {
      writer.write({ type: 'start' })
      writer.write({ type: 'text-start', id: 'text-1' })
      await emitPaced(paced, delta => writer.write({ type: 'text-delta', id: 'text-1', delta }))
      await writer.commit([
        { type: 'text-end', id: 'text-1' },
        { type: 'finish', finishReason: 'stop' },
      ])
      await writer.close()
    },
  }
}
