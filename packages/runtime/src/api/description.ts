// What people call a session.

import type { StreamManager } from '@millrace/log'
import type { JsonObject } from '@millrace/protocol'
import { checkObject } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import { sessionUnknown } from '../session/log-errors.ts'

/** What people call a session, and what they keep beside it; what is not named stays as it was. */
export interface DescribeOptions {
  readonly title?: string
  /** Comes in the place of all that was kept before. */
  readonly metadata?: JsonObject
  /** A label of who says so, as the server's own code knows it. */
  readonly guest?: string
  /** Whose the session must be, null for nobody's; another's is as if it were not there. */
  readonly principal?: string | null
}

/** Says what a session is called; tells the sequence of the entry that says so. */
export async function describeSession(
  manager: StreamManager,
  sessionId: string,
  options: DescribeOptions,
): Promise<{ readonly sequence: number }> {
  checkObject('describe', options)
  const { title, metadata, guest = 'runtime', principal } = options
  if (title === undefined && metadata === undefined) {
    throw new ValidationError('describe: expected a title or metadata, found neither')
  }
  const said = { ...(title !== undefined && { title }), ...(metadata !== undefined && { metadata }) }
  const whose = principal === undefined ? {} : { principal }
  const done = await manager.append(sessionId, guest, { type: 'session-info', ...said }, whose)
  // It is refused nowhere but where there is nothing to be called anything.
  if (done.outcome === 'refused') throw sessionUnknown(sessionId)
  return { sequence: done.last }
}
