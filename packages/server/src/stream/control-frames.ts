import { type StreamManager, sessionIdOf, TruncatedError } from '@millrace/log'
import {
  type Cursor,
  encodeCursor,
  type OpenFrame,
  PROTOCOL_VERSION,
  type TruncatedFrame,
  type UnprovenCursor,
} from '@millrace/protocol'
import { sessionUnknown } from '../errors/http-error.ts'
import type { SessionIdentity } from '../sessions/session-access.ts'

/** The first frame of a stream that starts after a position. @throws `session_unknown` if the session is gone or another one has its id now */
export async function openFrame(
  manager: StreamManager,
  identity: SessionIdentity,
  after: string,
  heartbeatMs: number,
): Promise<OpenFrame> {
  const { streamId } = identity
  const sessionId = sessionIdOf(streamId)
  const info = await manager.getInfo(streamId)
  if (info === null || info.principal !== identity.principal) throw sessionUnknown(sessionId)
  const { head, incarnation } = info
  // A cursor carries its own incarnation, which is checked when it is read.
  if (after === '0' && incarnation !== identity.incarnation) throw sessionUnknown(sessionId)
  // Position 0 needs no proof.
  const cursor = after === '0' ? encodeCursor({ sequence: 0, incarnation, epoch: '0' }) : after
  return { type: 'open', protocol: PROTOCOL_VERSION, sessionId, incarnation, head, heartbeatMs, cursor }
}

/** Checks that a position lies in the log that the caller was authorized for. @throws `TruncatedError` */
export function assertIncarnation({ incarnation }: SessionIdentity, cursor: Cursor | UnprovenCursor | undefined): void {
  if (cursor === undefined || cursor.incarnation === incarnation) return
  throw new TruncatedError('incarnation', 'the session was replaced by another with the same id', 0, 0)
}

/**
 * The frame for a reader whose position is not in the log (law 2), from the `TruncatedError` of its read.
 *
 * @throws the given error if it is another one, and `session_unknown` if the session is gone or has another owner
 */
export async function truncatedFrame(
  manager: StreamManager,
  identity: SessionIdentity,
  error: unknown,
): Promise<TruncatedFrame> {
  // The runtime wraps the log's error.
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (!(cause instanceof TruncatedError)) throw error
  const { streamId } = identity
  const info = await manager.getInfo(streamId)
  if (info === null || info.principal !== identity.principal) throw sessionUnknown(sessionIdOf(streamId))
  const { floor, incarnation, head } = info
  return { type: 'truncated', floor, incarnation, reason: cause.reason, head }
}
