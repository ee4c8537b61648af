// Finds and creates the log of a session by its owner and id. Whether another owner has a log with that id changes
// neither the result nor the number of calls of the store, so a caller cannot learn of it.

import { isQualified, qualifiedId } from '../store/session-id.ts'
import type { StreamInfo, StreamManager } from './stream-manager.ts'

/** The parts of a manager that sessions need. */
type Logs = Pick<StreamManager, 'getInfo' | 'createStream' | 'expireStream'>

/** The log of a session, and whether this call created it. */
export interface OwnedSession {
  /** Id of the log. */
  readonly streamId: string
  /** Whether the call created the log. */
  readonly isNew: boolean
}

/** The two logs that a session may have: with its own id, also if it belongs to another owner, or with a qualified id. */
interface Candidates {
  readonly plain: StreamInfo | null
  readonly qualified: StreamInfo | null
}

/** The log of an owner's session; null if there is none. `sessionId` may be the id of the log, too. */
export async function findOwned(logs: Logs, owner: string | null, sessionId: string): Promise<StreamInfo | null> {
  return ownedOf(await candidatesOf(logs, owner, sessionId), owner)
}

/** Finds or creates the log of an owner's session. Returns undefined if `owner` is null and the id is in use. */
export async function openOwned(
  logs: Logs,
  owner: string | null,
  sessionId: string,
): Promise<OwnedSession | undefined> {
  for (;;) {
    const candidates = await candidatesOf(logs, owner, sessionId)
    const found = ownedOf(candidates, owner)
    if (found !== null) return { streamId: found.streamId, isNew: false }
    const isTaken = candidates.plain !== null
    if (owner === null || isQualified(sessionId)) {
      if (isTaken) return undefined
      if (await logs.createStream(sessionId, owner ?? undefined)) return { streamId: sessionId, isNew: true }
      continue
    }
    // Only code of the application can have created it, for another owner.
    if (candidates.qualified !== null) return undefined
    const ids = [sessionId, qualifiedId(owner, sessionId)] as const
    const [streamId, otherId] = isTaken ? [ids[1], ids[0]] : ids
    // If the log was created meanwhile, the next round finds it or its owner.
    if (!(await logs.createStream(streamId, owner))) continue
    // The plain id may have become free or taken meanwhile, so that another process created the other log: this one is deleted.
    const other = await logs.getInfo(otherId)
    if (other?.principal !== owner) return { streamId, isNew: true }
    await deleteUnused(logs, streamId)
  }
}

async function candidatesOf(logs: Logs, owner: string | null, sessionId: string): Promise<Candidates> {
  const [plain, qualified] = await Promise.all([
    logs.getInfo(sessionId),
    owner === null || isQualified(sessionId) ? null : logs.getInfo(qualifiedId(owner, sessionId)),
  ])
  return { plain, qualified }
}

/** The log with the qualified id is first: with a plain id, a process of an older release may have created another. */
function ownedOf({ plain, qualified }: Candidates, owner: string | null): StreamInfo | null {
  if (qualified?.principal === owner) return qualified
  return plain?.principal === owner ? plain : null
}

async function deleteUnused(logs: Logs, streamId: string): Promise<void> {
  const info = await logs.getInfo(streamId)
  if (info?.head === 0) await logs.expireStream(streamId, 0, info.version)
}
