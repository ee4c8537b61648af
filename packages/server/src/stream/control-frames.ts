import { type StreamManager, TruncatedError } from '@millrace/log'
import {
  type Cursor,
  encodeCursor,
  type OpenFrame,
  PROTOCOL_VERSION,
  type TruncatedFrame,
  type UnprovenCursor,
} from '@millrace/protocol'
import { sessionUnknown } from '../errors/refusal.ts'
import type { SessionIdentity } from '../sessions/session-access.ts'

/** The frame that comes first, for who reads after a place; throws as if there were no session where the one that was entered is gone, whatever is called so by now. */
export async function openFrame(
  manager: StreamManager,
  sessionId: string,
  identity: SessionIdentity,
  after: string,
  heartbeatMs: number,
): Promise<OpenFrame> {
  const info = await manager.getInfo(sessionId)
  if (info === null || info.principal !== identity.principal) throw sessionUnknown(sessionId)
  const { head, incarnation } = info
  // Who names a place is told by the place that it is in another log.
  if (after === '0' && incarnation !== identity.incarnation) throw sessionUnknown(sessionId)
  // Before the first entry lies nothing that needs proof.
  const cursor = after === '0' ? encodeCursor({ sequence: 0, incarnation, epoch: '0' }) : after
  return { type: 'open', protocol: PROTOCOL_VERSION, sessionId, incarnation, head, heartbeatMs, cursor }
}

/** Throws where what was read is of another log than the one that was entered: a bare sequence proves nothing. */
export function assertIncarnation({ incarnation }: SessionIdentity, place: Cursor | UnprovenCursor | undefined): void {
  if (place === undefined || place.incarnation === incarnation) return
  throw new TruncatedError('incarnation', 'the session is another by now', 0, 0)
}

/** The frame that tells a reader that its place is not in the log (law 2); throws whatever else went wrong, and that the session is gone where it is, or another's by now. */
export async function truncatedFrame(
  manager: StreamManager,
  sessionId: string,
  identity: SessionIdentity,
  error: unknown,
): Promise<TruncatedFrame> {
  // The runtime tells it in words of its own.
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (!(cause instanceof TruncatedError)) throw error
  const info = await manager.getInfo(sessionId)
  if (info === null || info.principal !== identity.principal) throw sessionUnknown(sessionId)
  const { floor, incarnation, head } = info
  return { type: 'truncated', floor, incarnation, reason: cause.reason, head }
}
