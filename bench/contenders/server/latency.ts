// Latency from just before an append in the server's process until a reader in another process has it, one at a time.
import { strictEqual } from 'node:assert/strict'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import type { Chunk } from '@millrace/protocol'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { clock } from '../log/start-child.ts'
import { readersChild, type ServerName, type SessionServer, serve } from './session-server.ts'

/** Interval between two appends, in ms. */
const WRITE_INTERVAL_MS = 4
const time = (): Chunk => ({ type: 'data-time', data: clock() }) as Chunk

const serveOnce = openOnce(async (serverName: ServerName) => {
  const server = await serve(serverName)
  await readersChild().request({ kind: 'connect', addresses: [server.live], readers: 1 })
  return server
})

const isWarm = new WeakSet<SessionServer>()

/** Appends without a pause: at the measured pace the server's code would not be optimised for minutes. */
async function warm(server: SessionServer, count: number): Promise<void> {
  if (isWarm.has(server)) return
  isWarm.add(server)
  for (let i = 0; i < count; i++) {
    await server.append([time()])
    await turn()
  }
  await readersChild().request({ kind: 'receive', address: server.live, entries: count })
}

/** Latencies of `count` appends in ms, after four times as many warm-up appends. */
export async function latencies(serverName: ServerName, count: number): Promise<Job> {
  const server = await serveOnce(serverName)
  await warm(server, 4 * count)
  const { append, live } = server
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
