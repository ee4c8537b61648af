// The thread that renews leases while the event loop is blocked, with its own connection to the server.

import { parentPort, workerData } from 'node:worker_threads'
import { loadDriver } from '../../store/driver-package.ts'
import type { HeartbeatData } from '../../store/heartbeat-messages.ts'
import { runHeartbeat } from '../../store/run-heartbeat.ts'
import { Database, type PostgresDriver } from './database.ts'
import type { PostgresHeartbeatConnection } from './heartbeat.ts'
import { encodeName, keyOf } from './name.ts'
import { quoteIdentifier, renewAllOf } from './statements.ts'

const { connection, progress } = workerData as HeartbeatData<PostgresHeartbeatConnection>
const { driver, config, schema, timeoutMs } = connection
const database = new Database({
  driver: loadDriver<PostgresDriver>(driver),
  config,
  pool: undefined,
  schema,
  timeoutMs,
})
const renewAll = renewAllOf(quoteIdentifier(schema))

runHeartbeat(parentPort as NonNullable<typeof parentPort>, progress, {
  async renew(leases) {
    const keys = leases.map(({ streamId }) => keyOf(streamId))
    const epochs = leases.map(({ epoch }) => encodeName(epoch))
    const ttls = leases.map(({ ttlMs }) => Math.ceil(ttlMs))
    const rows = await database.query('renew', renewAll, [keys, epochs, ttls], true)
    const found = new Map(rows.map(([position, isRenewed]) => [Number(position) - 1, isRenewed === true]))
    return leases.map((_, i) => {
      const isRenewed = found.get(i)
      if (isRenewed === undefined) return 'lost'
      return isRenewed ? 'renewed' : 'locked'
    })
  },
  async close() {
    database.refuse()
    await database.settled()
    await database.end()
  },
})
