import { type StreamManager, TruncatedError } from '@millrace/log'
import type { TruncatedFrame } from '@millrace/protocol'
import { sessionUnknown } from '../errors/refusal.ts'
import type { Entered } from './open-frame.ts'

/** The frame that tells a reader that its place is not in the log (law 2); throws whatever else went wrong, and that the session is gone where it is, or another's by now. */
export async function truncatedFrame(
  manager: StreamManager,
  sessionId: string,
  entered: Entered,
  error: unknown,
): Promise<TruncatedFrame> {
  // The runtime tells it in words of its own.
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (!(cause instanceof TruncatedError)) throw error
  const info = await manager.getInfo(sessionId)
  if (info === null || info.principal !== entered.principal) throw sessionUnknown(sessionId)
  const { floor, incarnation, head } = info
  return { type: 'truncated', floor, incarnation, reason: cause.reason, head }
}
