// Latency from just before an append in the server's process until a reader in another process has it, one at a time.
import { strictEqual } from 'node:assert/strict'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import type { Chunk } from '@millrace/protocol'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { clock } from '../log/start-child.ts'
import { readersChild, type Served, serve, type Way } from './served.ts'

/** Interval between two appends, in ms. */
const WRITE_INTERVAL_MS = 4
const time = (): Chunk => ({ type: 'data-time', data: clock() }) as Chunk

const serveOnce = openOnce(async (way: Way) => {
  const served = await serve(way)
  await readersChild().request({ kind: 'connect', addresses: [served.live], readers: 1 })
  return served
})

const isWarm = new WeakSet<Served>()

/** Appends without a pause: at the measured pace the server's code would not be optimised for minutes. */
async function warm(served: Served, count: number): Promise<void> {
  if (isWarm.has(served)) return
  isWarm.add(served)
  for (let i = 0; i < count; i++) {
    await served.append([time()])
    await turn()
  }
  await readersChild().request({ kind: 'receive', address: served.live, entries: count })
}

/** Latencies of `count` appends in ms, after four times as many warm-up appends. */
export async function latencies(way: Way, count: number): Promise<Job> {
  const served = await serveOnce(way)
  await warm(served, 4 * count)
  const { append, live } = served
  return job(
    async () => {
      for (let i = 0; i < count; i++) {
        await append([time()])
        await pause(WRITE_INTERVAL_MS)
      }
      return readersChild().request({ kind: 'receive', address: live, entries: count })
    },
    ({ received, times }) => {
      strictEqual(received[0]?.entries, count)
      strictEqual(times.length, count)
    },
    ({ times }) => times,
  )
}
