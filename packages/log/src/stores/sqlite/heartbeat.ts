import type { HeartbeatData } from '../../store/heartbeat-messages.ts'
import { HeartbeatThread } from '../../store/heartbeat-thread.ts'
import { startWorker } from '../../store/start-worker.ts'
import { WORKER_SOURCE } from './heartbeat-worker-source.ts'
import type { FileOptions } from './log-file.ts'

/** The heartbeat of a file. */
export function sqliteHeartbeat(connection: FileOptions): HeartbeatThread {
  const code = { url: import.meta.url, file: 'heartbeat-worker.ts', source: WORKER_SOURCE }
  return new HeartbeatThread(progress => {
    const workerData: HeartbeatData<FileOptions> = { connection, progress }
    return startWorker(code, { workerData, name: 'millrace-heartbeat' })
  })
}
