import type { Json } from '@millrace/protocol'
import type { Agent, Logger, Runtime, Workflow } from '@millrace/runtime'
import type { Caller } from '../auth/authorize.ts'
import type { Limiter } from '../auth/limiter.ts'
import type { SessionServices } from '../sessions/session-access.ts'
import type { StoreProbe } from '../sessions/store-probe.ts'
import type { StreamServices } from '../stream/connections.ts'
import type { SessionLists } from '../stream/session-lists.ts'

/** The services that routes use, available once the store is open. */
export interface Services extends SessionServices, StreamServices {
  readonly runtime: Runtime
  readonly agents: readonly Agent[]
  readonly workflows: readonly Workflow[]
  readonly lists: SessionLists
  readonly limiter: Limiter
  readonly probe: StoreProbe
  readonly logger: Logger
  readonly openApi: () => unknown
  /** Calls the app's `context` option for a run. */
  contextOf(request: Request, caller: Caller, body: unknown): Promise<Json | undefined>
}
