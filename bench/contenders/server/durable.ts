// `@durable-streams/server` with JSON messages, one per append: in memory, or in files, where each append waits for the disk.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DurableStreamTestServer } from '@durable-streams/server'
import type { Chunk } from '@millrace/protocol'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import { serviceUrl } from '../../harness/services.ts'
import type { Address, PlainEntry, SessionServer } from './session-server.ts'

const JSON_TYPE = 'application/json'

const openServer = openOnce(async (isFile: 'file' | 'memory') => {
  const storage = isFile === 'file' ? { dataDir: join(serviceUrl('folder'), `durable-${randomUUID()}`) } : {}
  const server = new DurableStreamTestServer({ port: 0, ...storage })
  const url = new URL(await server.start())
  onCleanup(async () => {
    // Its `stop` closes only every other waiting reader, because it iterates over a list that shrinks meanwhile.
    const { pendingLongPolls } = server.store as unknown as { pendingLongPolls: { resolve(messages: []): void }[] }
    const waiting = [...pendingLongPolls]
    const stopped = server.stop()
    for (const { resolve } of waiting) resolve([])
    await stopped
  })
  return { server, port: Number(url.port) }
})

/** A new stream, appended to through the server's store. `fromStart` returns its address from the first entry, as SSE or as one response. */
export async function newStream(isFile: boolean): Promise<SessionServer & { fromStart(isSse: boolean): Address }> {
  const { server, port } = await openServer(isFile ? 'file' : 'memory')
  const path = `/${randomUUID()}`
  await server.store.create(path, { contentType: JSON_TYPE })
  let sequence = 0
  return {
    live: { port, path: `${path}?offset=now&live=sse`, format: 'arrays' },
    fromStart: isSse => ({
      port,
      path: `${path}?offset=-1${isSse ? '&live=sse' : ''}`,
      format: isSse ? 'arrays' : 'array',
    }),
    async append(chunks: readonly Chunk[]) {
      const timestamp = Date.now()
      const entries = chunks.map((chunk): PlainEntry => ({ sequence: ++sequence, timestamp, chunk }))
      await server.store.append(path, Buffer.from(JSON.stringify(entries)), { contentType: JSON_TYPE })
    },
  }
}

export const serveDurable = (isFile: boolean): Promise<SessionServer> => newStream(isFile)
