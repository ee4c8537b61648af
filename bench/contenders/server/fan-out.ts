// CPU time of a server to deliver entries to readers in another process.
import { setImmediate as turn } from 'node:timers/promises'
import { entryBatches } from '../../fixtures/batches.ts'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { checkGot, expectedOf, readersChild, serve, type Way } from './served.ts'

const serveWithReaders = openOnce(async (way: Way, readers: number) => {
  const served = await serve(way)
  if (readers > 0) await readersChild().request({ kind: 'connect', addresses: [served.live], readers })
  return served
})

/** Appends batches of `size` entries, one per event loop turn, until each reader has all. An item is one delivery. */
export async function fanOut(way: Way, readers: number, size: number, items: number, workIndex: number): Promise<Job> {
  const count = Math.floor(items / Math.max(1, readers))
  const batches = entryBatches(count, workIndex, size).map(({ chunks }) => chunks)
  const { append, live } = await serveWithReaders(way, readers)
  const expected = expectedOf(batches.flat())
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
      checkGot(received, readers, expected)
    },
    undefined,
    ({ bytes }) => (readers > 0 ? [`${Math.round(bytes / readers / count)} bytes an entry on the wire`] : []),
  )
}
