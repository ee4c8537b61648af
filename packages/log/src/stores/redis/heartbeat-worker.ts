// The thread that renews leases while the event loop is blocked, with its own connection to the server.

import { parentPort, workerData } from 'node:worker_threads'
import { loadDriver } from '../../store/driver-package.ts'
import type { HeartbeatData } from '../../store/heartbeat-messages.ts'
import { runHeartbeat } from '../../store/run-heartbeat.ts'
import { Connection, type RedisDriver, serverOfSettings } from './connection.ts'
import type { RedisHeartbeatConnection } from './heartbeat.ts'
import { Keys, markOr } from './keys.ts'
import { RENEW_ALL } from './renew-all.ts'

const { connection: settings, progress } = workerData as HeartbeatData<RedisHeartbeatConnection>
const driver = loadDriver<RedisDriver>(settings.driver)
const keys = new Keys(settings.prefix)
const connection = new Connection(serverOfSettings(driver, settings.client, settings.timeoutMs))

runHeartbeat(parentPort as NonNullable<typeof parentPort>, progress, {
  async renew(leases) {
    const logs = leases.map(({ streamId }) => keys.log(streamId))
    const args = leases.flatMap(({ epoch, ttlMs }) => [markOr(epoch), `${Math.ceil(ttlMs)}`])
    const reply = await connection.run(
      RENEW_ALL,
      logs.flatMap(({ record, head }) => [record, head]),
      args,
    )
    return (reply as number[]).map(renewed => (renewed === 1 ? 'renewed' : 'lost'))
  },
  close: () => connection.close(),
})
