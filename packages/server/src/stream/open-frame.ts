import { type StreamInfo, type StreamManager, TruncatedError } from '@millrace/log'
import { type Cursor, encodeCursor, type OpenFrame, PROTOCOL_VERSION, type UnprovenCursor } from '@millrace/protocol'
import { sessionUnknown } from '../errors/refusal.ts'

/** The session that somebody was let into: whose it is, and which of all that were ever called so. */
export type Entered = Pick<StreamInfo, 'principal' | 'incarnation'>

/** The frame that comes first, for who reads after a place; throws as if there were no session where the one that was entered is gone, whatever is called so by now. */
export async function openFrame(
  manager: StreamManager,
  sessionId: string,
  entered: Entered,
  after: string,
  heartbeatMs: number,
): Promise<OpenFrame> {
  const info = await manager.getInfo(sessionId)
  if (info === null || info.principal !== entered.principal) throw sessionUnknown(sessionId)
  const { head, incarnation } = info
  // Who names a place is told by the place that it is in another log.
  if (after === '0' && incarnation !== entered.incarnation) throw sessionUnknown(sessionId)
  // Before the first entry lies nothing that needs proof.
  const cursor = after === '0' ? encodeCursor({ sequence: 0, incarnation, epoch: '0' }) : after
  return { type: 'open', protocol: PROTOCOL_VERSION, sessionId, incarnation, head, heartbeatMs, cursor }
}

/** Throws where what was read is of another log than the one that was entered: a bare sequence proves nothing. */
export function mustBeIn({ incarnation }: Entered, place: Cursor | UnprovenCursor | undefined): void {
  if (place === undefined || place.incarnation === incarnation) return
  throw new TruncatedError('incarnation', 'the session is another by now', 0, 0)
}

/** Throws as if there were no session where the one that was entered is gone: for what was done by its name alone. */
export async function mustStillBe(manager: StreamManager, sessionId: string, { incarnation }: Entered): Promise<void> {
  const info = await manager.getInfo(sessionId)
  if (info?.incarnation !== incarnation) throw sessionUnknown(sessionId)
}
