import type { StreamManager } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import { MillraceError } from '../error/error.ts'

/**
 * Reads a large value of a session by its hash. @throws {MillraceError} if it is missing: a placeholder would be taken
 * for the value.
 */
export async function largeValue(manager: StreamManager, sessionId: string, hash: string): Promise<Json> {
  const bytes = await manager.blob(sessionId, hash)
  if (bytes === undefined)
    throw new MillraceError('internal_error', 'a large value of the session is missing from the store')
  return JSON.parse(Buffer.from(bytes).toString()) as Json
}
