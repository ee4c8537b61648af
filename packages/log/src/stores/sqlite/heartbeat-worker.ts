// The thread that renews leases while the event loop is blocked, with its own connection to the file.

import { parentPort, workerData } from 'node:worker_threads'
import type { HeartbeatData, ThreadLease } from '../../store/heartbeat-messages.ts'
import { type RenewalOutcome, runHeartbeat } from '../../store/run-heartbeat.ts'
import { renew } from './lease.ts'
import { type FileOptions, LogFile, walBytesOf } from './log-file.ts'

/** How long a renewal waits for a lock of another connection, in ms. */
const BUSY_TIMEOUT_MS = 1000

const { connection, progress } = workerData as HeartbeatData<FileOptions>
let file: LogFile | undefined

runHeartbeat(parentPort as NonNullable<typeof parentPort>, progress, {
  async renew(leases) {
    const outcomes = renewAll(leases)
    // The event loop counts only its own writes, and may be blocked.
    if (walBytesOf(connection.path) > connection.walBytes) file?.row('PRAGMA wal_checkpoint(PASSIVE)')
    return outcomes
  },
  async close() {
    file?.close()
  },
})

function renewAll(leases: readonly ThreadLease[]): RenewalOutcome[] {
  // A lost lease needs no flush to disk.
  file ??= new LogFile({ ...connection, durability: 'normal' }, BUSY_TIMEOUT_MS)
  const open = file
  return open.transaction('write', () =>
    leases.map(({ streamId, epoch, ttlMs }) =>
      renew(open, Date.now(), streamId, epoch, ttlMs) === undefined ? 'lost' : 'renewed',
    ),
  )
}
