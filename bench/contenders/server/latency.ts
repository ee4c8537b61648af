// From just before an append in the server's process until a reader in another has it, one at a time.
import { strictEqual } from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Chunk } from '@millrace/protocol'
import { opened } from '../../harness/closing.ts'
import { type Job, job } from '../../harness/suite.ts'
import { clock } from '../log/apart.ts'
import { openServed, readersApart, type Way } from './served.ts'

/** Milliseconds between two appends. */
const PACE = 4

const here = opened(async (way: Way) => {
  const served = await openServed(way)
  await readersApart().ask({ kind: 'come', address: served.live, readers: 1 })
  return served
})

/** The milliseconds that each of so many appends takes to a reader. */
export async function latencies(way: Way, count: number): Promise<Job> {
  const { append } = await here(way)
  return job(
    async () => {
      for (let i = 0; i < count; i++) {
        await append([{ type: 'data-time', data: clock() } as Chunk])
        await pause(PACE)
      }
      return readersApart().ask({ kind: 'get', entries: count })
    },
    ({ got, times }) => {
      strictEqual(got[0]?.entries, count)
      strictEqual(times.length, count)
    },
    ({ times }) => times,
  )
}
