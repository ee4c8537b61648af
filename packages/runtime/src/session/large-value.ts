import type { StreamManager } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import { MillraceError } from '../error/error.ts'

/** A large value of a session, by its hash; throws where it is gone, because nothing in its place would be taken for what was said there. */
export async function largeValue(manager: StreamManager, sessionId: string, hash: string): Promise<Json> {
  const bytes = await manager.blob(sessionId, hash)
  if (bytes === undefined) throw new MillraceError('internal_error', 'a large value of the session is gone')
  return JSON.parse(Buffer.from(bytes).toString()) as Json
}
