// Title and metadata of a session.

import type { StreamManager } from '@millrace/log'
import type { JsonObject } from '@millrace/protocol'
import { checkObject } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import { sessionUnknown } from '../session/log-errors.ts'

/** New title and metadata of a session. Absent fields stay unchanged. */
export interface DescribeOptions {
  /** New title. @default unchanged */
  readonly title?: string
  /** Replaces all metadata. @default unchanged */
  readonly metadata?: JsonObject
  /** Label of the user, for the log. @default 'runtime' */
  readonly guest?: string
  /**
   * Expected owner of the session, or null for none. A session of another owner counts as missing.
   * @default not checked
   */
  readonly principal?: string | null
}

/**
 * Sets title and metadata of a session. Returns the sequence of the entry.
 * @throws {ValidationError} if both are absent.
 * @throws {RunError} `session_unknown` if the session does not exist.
 */
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
  const fields = { ...(title !== undefined && { title }), ...(metadata !== undefined && { metadata }) }
  const owner = principal === undefined ? {} : { principal }
  const appended = await manager.append(sessionId, guest, { type: 'session-info', ...fields }, owner)
  // The log refuses it only if the session is missing.
  if (appended.outcome === 'refused') throw sessionUnknown(sessionId)
  return { sequence: appended.last }
}
