import type { StreamInfo, StreamManager } from '@millrace/log'
import { encodeCursor, type OpenFrame, PROTOCOL_VERSION } from '@millrace/protocol'
import { sessionUnknown } from '../error.ts'

/** The frame that comes first, for who reads after a place, and what the log was then. */
export async function openFrame(
  manager: StreamManager,
  sessionId: string,
  after: string,
  heartbeatMs: number,
): Promise<{ readonly open: OpenFrame; readonly info: StreamInfo }> {
  const info = await manager.getInfo(sessionId)
  if (info === null) throw sessionUnknown(sessionId)
  const { head, incarnation } = info
  // The beginning needs no proof.
  const cursor = after === '0' ? encodeCursor({ sequence: 0, incarnation, epoch: '0' }) : after
  return { open: { type: 'open', protocol: PROTOCOL_VERSION, sessionId, incarnation, head, heartbeatMs, cursor }, info }
}
