// Sessions as callers enter them: their own, and nobody is told of another's.

import type { StreamInfo, StreamManager } from '@millrace/log'
import type { Action, Caller, Program } from '../auth/authorize.ts'
import type { Limits } from '../auth/limits.ts'
import { Refusal, sessionUnknown } from '../errors/refusal.ts'
import type { KeyedQueue } from './keyed-queue.ts'

/** What access to sessions needs of a server. */
export interface SessionServices {
  readonly manager: StreamManager
  readonly limits: Limits
  /** Runs the creations of sessions one at a time per owner. */
  readonly creations: KeyedQueue
  /** Is told of each new session, by owner. */
  readonly lists: { sessionCreated(owner: string | null): void }
  /** Resolves the caller of a request, or throws where it may not do this. */
  authorize(request: Request, action: Action, sessionId?: string, program?: Program): Promise<Caller>
}

/** The session that somebody was let into: whose it is, and which of all that were ever called so. */
export type SessionIdentity = Pick<StreamInfo, 'principal' | 'incarnation'>

/** A session that is the caller's to enter; throws as if there were none otherwise. */
export async function requireSession(
  services: SessionServices,
  caller: Caller,
  sessionId: string,
): Promise<StreamInfo> {
  const info = await services.manager.getInfo(sessionId)
  if (info === null || info.principal !== caller.owner) throw sessionUnknown(sessionId)
  return info
}

/** Throws where there is such a session, and it is not the caller's; a session that is not there may be made. */
export async function assertOwnOrAbsent(
  { manager }: SessionServices,
  caller: Caller,
  sessionId: string,
): Promise<void> {
  const info = await manager.getInfo(sessionId)
  if (info !== null && info.principal !== caller.owner) throw sessionUnknown(sessionId)
}

/** Throws as if there were no session where the one that was entered is gone: for what was done by its name alone. */
export async function assertSameSession(
  manager: StreamManager,
  sessionId: string,
  { incarnation }: SessionIdentity,
): Promise<void> {
  const info = await manager.getInfo(sessionId)
  if (info?.incarnation !== incarnation) throw sessionUnknown(sessionId)
}

/** Removes a session of the caller's, and no other that comes to be called so meanwhile; throws where there is none. */
export async function deleteSession(services: SessionServices, caller: Caller, sessionId: string): Promise<void> {
  for (let isGone = false; !isGone; ) {
    const { version } = await requireSession(services, caller, sessionId)
    isGone = await services.manager.deleteStream(sessionId, version)
  }
}

/** Asks again whether somebody who reads still may; throws where they may not, are somebody else by now, or the session is not theirs any more. */
export async function reauthorizeSession(
  services: SessionServices,
  request: Request,
  caller: Caller,
  action: Action,
  sessionId: string | undefined,
  program?: Program,
): Promise<void> {
  await reauthorize(services, request, caller, action, sessionId, program)
  if (sessionId !== undefined) await requireSession(services, caller, sessionId)
}

/** Asks once more whether somebody may, by now that more is known of what they ask for; throws where they may not, or are somebody else. */
export async function reauthorize(
  services: SessionServices,
  request: Request,
  caller: Caller,
  action: Action,
  sessionId: string | undefined,
  program: Program | undefined,
): Promise<void> {
  const { principal, owner } = await services.authorize(request, action, sessionId, program)
  if (principal !== caller.principal || owner !== caller.owner)
    throw new Refusal('forbidden', 'you are somebody else by now: come again')
}

/** Does something in a session of the caller's, which is made where there is none; one that was made for nothing is gone again. */
export async function withSession<T>(
  services: SessionServices,
  caller: Caller,
  sessionId: string,
  work: (session: StreamInfo) => Promise<T>,
): Promise<T> {
  const { manager } = services
  const isNew = (await manager.getInfo(sessionId)) === null && (await createOwned(services, caller, sessionId))
  // Another may have made it meanwhile, for somebody else.
  const session = await requireSession(services, caller, sessionId)
  try {
    return await work(session)
  } catch (error) {
    if (isNew) await deleteIfUnused(services, session).catch(() => {})
    throw error
  }
}

/** Makes a session of the caller's; false where there is one of that id, and throws where they have too many. */
async function createOwned(services: SessionServices, { owner }: Caller, sessionId: string): Promise<boolean> {
  return createWithinLimit(services, owner, () => services.manager.createStream(sessionId, owner ?? undefined))
}

/** Makes a session for somebody who has room for one; throws where they have none. Those of one principal are made one at a time, in this process: each counts all before it. */
export async function createWithinLimit<T>(
  services: SessionServices,
  owner: string | null,
  createOwned: () => Promise<T>,
): Promise<T> {
  const sessionCreated =
    // Where nobody is asked who they are, all sessions are nobody's.
    owner === null
      ? await createOwned()
      : await services.creations.run(owner, async () => {
          await assertRoomForSession(services, owner)
          return createOwned()
        })
  services.lists.sessionCreated(owner)
  return sessionCreated
}

/** Removes a session again, unless something has happened there already. */
async function deleteIfUnused({ manager }: SessionServices, { streamId, version, head }: StreamInfo): Promise<void> {
  // Only this very log: whatever happens in it gives it another version.
  if (head === 0) await manager.expireStream(streamId, 0, version)
}

/** Throws where somebody has as many sessions as they may. */
async function assertRoomForSession({ manager, limits }: SessionServices, owner: string): Promise<void> {
  const { sessions: most } = limits
  let count = 0
  for (let after: string | undefined; count < most; ) {
    const { streams, next } = await manager.listStreams(owner, { limit: PAGE, ...(after !== undefined && { after }) })
    count += streams.length
    if (next === null) break
    after = next
  }
  if (count >= most) throw new Refusal('sessions_limit', `sessions: expected at most ${most}: delete one first`)
}

const PAGE = 1000
