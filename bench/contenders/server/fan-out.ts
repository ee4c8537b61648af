// CPU time of a server to deliver entries to readers in another process.
import { setImmediate as turn } from 'node:timers/promises'
import { entryBatches } from '../../fixtures/batches.ts'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { checkReceived, expectedEntries, readersChild, type ServerName, serve } from './session-server.ts'

const serveWithReaders = openOnce(async (serverName: ServerName, readers: number) => {
  const server = await serve(serverName)
  if (readers > 0) await readersChild().request({ kind: 'connect', addresses: [server.live], readers })
  return server
})

/** Appends batches of `size` entries, one per event loop turn, until each reader has all. An item is one delivery. */
export async function fanOut(
  serverName: ServerName,
  readers: number,
  size: number,
  items: number,
  workIndex: number,
): Promise<Job> {
  const count = Math.floor(items / Math.max(1, readers))
  const batches = entryBatches(count, workIndex, size).map(({ chunks }) => chunks)
  const { append, live } = await serveWithReaders(serverName, readers)
  const expected = expectedEntries(batches.flat())
  return job(
    async () => {
      for (const chunks of batches) {
        await append(chunks)
        await turn()
      }
      const reply =
        readers > 0
          ? await readersChild().request({ kind: 'receive', address: live, entries: count })
          : { received: [], bytes: 0 }
      return { count, ...reply }
    },
    ({ count: done, received }) => {
      if (done !== count) throw new Error(`expected ${count} appended entries, found ${done}`)
      checkReceived(received, readers, expected)
    },
    undefined,
    ({ bytes }) => (readers > 0 ? [`${Math.round(bytes / readers / count)} bytes an entry on the wire`] : []),
  )
}
