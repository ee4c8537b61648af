// Our sessions. Some have a writer, the others have ended.

import type { Backend } from '../log/target.ts'
import { inParallel } from '../runtime/in-parallel.ts'
import { liveAddress, openLogServer, startedWriter } from '../server/ours.ts'
import type { ServedSession } from './open-sessions.ts'

/** Sessions that are created at the same time. */
const CONCURRENCY = 64

export async function sessionsOurs(backend: Backend, sessions: number, written: number): Promise<ServedSession[]> {
  const { manager, port } = await openLogServer(backend)
  return inParallel(sessions, CONCURRENCY, async n => {
    const writer = await startedWriter(manager)
    if (n < written) {
      return {
        address: liveAddress(port, writer),
        append(chunk) {
          writer.write(chunk)
        },
      }
    }
    await manager.endStream(writer.streamId)
    await writer.close()
    return { address: liveAddress(port, writer) }
  })
}
