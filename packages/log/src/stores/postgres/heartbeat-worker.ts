// The thread that renews leases while the event loop is blocked, with its own connections to the server.

import { parentPort, workerData } from 'node:worker_threads'
import { loadDriver } from '../../store/driver-package.ts'
import type { HeartbeatData, ThreadLease } from '../../store/heartbeat-messages.ts'
import { runHeartbeat } from '../../store/run-heartbeat.ts'
import { Database, type PostgresDriver } from './database.ts'
import type { PostgresHeartbeatConnection } from './heartbeat.ts'
import { encodeName, keyOf } from './name.ts'
import { quoteIdentifier, renewalsOf } from './statements.ts'

const { connection, progress } = workerData as HeartbeatData<PostgresHeartbeatConnection>
const { driver, config, schema, timeoutMs } = connection
const database = new Database({
  driver: loadDriver<PostgresDriver>(driver),
  config,
  pool: undefined,
  schema,
  timeoutMs,
})
const sql = renewalsOf(quoteIdentifier(schema))

runHeartbeat(parentPort as NonNullable<typeof parentPort>, progress, {
  async renew(leases) {
    const keys = leases.map(({ streamId }) => keyOf(streamId))
    const epochs = leases.map(({ epoch }) => encodeName(epoch))
    const ttls = leases.map(({ ttlMs }) => Math.ceil(ttlMs))
    const rows = await database.query('renew', sql.renewUnlocked, [keys, epochs, ttls], true)
    const renewed = new Set(rows.map(([position]) => Number(position) - 1))
    // The others are locked by an append, or lost.
    return Promise.all(leases.map((lease, i) => renewed.has(i) || renewOne(lease)))
  },
  async close() {
    database.refuse()
    await database.settled()
    await database.end()
  },
})

async function renewOne({ streamId, epoch, ttlMs }: ThreadLease): Promise<boolean> {
  const values = [keyOf(streamId), encodeName(epoch), Math.ceil(ttlMs)]
  const [[until] = []] = await database.query('renew', sql.renew, values, true)
  return until !== null
}
