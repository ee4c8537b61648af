import type { StreamManager } from '@millrace/log'
import { encodeCursor, type OpenFrame, PROTOCOL_VERSION } from '@millrace/protocol'
import { sessionUnknown } from '../error.ts'

/** The frame that comes first, for who reads after a place. */
export async function openFrame(
  manager: StreamManager,
  sessionId: string,
  after: string,
  heartbeatMs: number,
): Promise<OpenFrame> {
  const info = await manager.getInfo(sessionId)
  if (info === null) throw sessionUnknown(sessionId)
  const { head, incarnation } = info
  // Before the first entry lies nothing that needs proof.
  const cursor = after === '0' ? encodeCursor({ sequence: 0, incarnation, epoch: '0' }) : after
  return { type: 'open', protocol: PROTOCOL_VERSION, sessionId, incarnation, head, heartbeatMs, cursor }
}
