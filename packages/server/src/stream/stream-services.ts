import type { StreamManager } from '@millrace/log'
import type { Connections } from './connections.ts'
import type { StreamSettings } from './stream-settings.ts'

/** The services that streams need. */
export interface StreamServices {
  readonly manager: StreamManager
  readonly connections: Connections
  readonly settings: StreamSettings
}
