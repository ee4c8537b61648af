import type { StreamManager } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import type { Agent, Logger, Runtime, Workflow } from '@millrace/runtime'
import type { Action, Caller, Program } from '../auth/authorize.ts'
import type { Limiter } from '../auth/limiter.ts'
import type { Limits } from '../auth/limits.ts'
import type { Turns } from '../sessions/keyed-queue.ts'
import type { Connections } from '../stream/connections.ts'
import type { Feeds } from '../stream/feeds.ts'
import type { Lists } from '../stream/session-lists.ts'
import type { StreamSettings } from '../stream/stream-settings.ts'

/** What routes work with: a server that has its store. */
export interface Services {
  readonly runtime: Runtime
  readonly manager: StreamManager
  readonly agents: readonly Agent[]
  readonly workflows: readonly Workflow[]
  readonly feeds: Feeds
  readonly lists: Lists
  readonly connections: Connections
  readonly limiter: Limiter
  readonly limits: Limits
  /** Those who make sessions, by owner. */
  readonly making: Turns
  readonly settings: StreamSettings
  readonly logger: Logger
  readonly openApi: () => unknown
  /** Asks who somebody is, and whether they may. */
  authorize(request: Request, action: Action, sessionId?: string, program?: Program): Promise<Caller>
  /** The context that node and tool code of a run sees: the server's own words. */
  contextOf(request: Request, caller: Caller, body: unknown): Promise<Json | undefined>
}
