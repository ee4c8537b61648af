import type { LogStore } from '@millrace/log'
import type { Logger } from '@millrace/runtime'
import { type App, millrace } from '../app.ts'
import { AGENTS, SECRET } from './agents.fixture.ts'

/** Short enough that a dead connection is soon known for one, long enough for a machine that is busy. */
const HEARTBEAT_MS = 500
/** So little that a reader who stalls for a moment is let go, and reads on for itself. */
const MAX_BUFFERED = 4 * 1024
const STALL_MS = 2_000

/** The server of the schedules, which drives nothing. */
export function serverOf(store: LogStore, logger: Logger): App {
  return millrace({
    store,
    agents: AGENTS,
    engine: false,
    logger,
    context: () => ({ key: SECRET }),
    limits: { streams: 10_000, requestsPerMinute: 1_000_000 },
    stream: { heartbeatMs: HEARTBEAT_MS, maxBuffered: MAX_BUFFERED, stallMs: STALL_MS, pollMs: 300 },
  })
}
