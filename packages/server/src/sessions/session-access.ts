// Access to sessions by their owner and id. Sessions of other owners do not exist for the caller: they change neither
// the reply nor the calls of the store. A client's session id (`sessionId`) is turned into the id of a log (`streamId`) here alone.

import { type StreamInfo, type StreamManager, sessionIdOf } from '@millrace/log'
import type { KeyedQueue } from '@millrace/runtime/internal'
import type { Action, Caller, Program } from '../auth/authorize.ts'
import type { Limits } from '../auth/limits.ts'
import { HttpError, sessionUnknown } from '../errors/http-error.ts'
import type { UploadQuota } from './upload-quota.ts'

/** The services that access to sessions needs. */
export interface SessionServices {
  readonly manager: StreamManager
  readonly limits: Limits
  /** Serializes the creation of sessions per owner. */
  readonly creations: KeyedQueue
  /** Bounds the files of sessions. */
  readonly uploads: UploadQuota
  /** Gets notified of each new session. */
  readonly lists: { sessionCreated(owner: string | null): void }
  /** Resolves the caller of a request. @throws if the caller may not perform the action */
  authorize(request: Request, action: Action, sessionId?: string, program?: Program): Promise<Caller>
}

/** Log, owner and incarnation of a session: tells it from a later session with the same id. */
export type SessionIdentity = Pick<StreamInfo, 'streamId' | 'principal' | 'incarnation'>

/** The info of a session of the caller; null if the caller has no such session. */
export const findSession = ({ manager }: SessionServices, { owner }: Caller, sessionId: string) =>
  manager.findSession(owner, sessionId)

/** The info of a session of the caller. @throws `session_unknown` */
export async function requireSession(
  services: SessionServices,
  caller: Caller,
  sessionId: string,
): Promise<StreamInfo> {
  const info = await findSession(services, caller, sessionId)
  if (info === null) throw sessionUnknown(sessionId)
  return info
}

/** Checks that the session is still the same one, after an operation by the id of its log alone. @throws `session_unknown` */
export async function assertSameSession(
  manager: StreamManager,
  { streamId, incarnation }: SessionIdentity,
): Promise<void> {
  const info = await manager.getInfo(streamId)
  if (info?.incarnation !== incarnation) throw sessionUnknown(sessionIdOf(streamId))
}

/** Deletes a session of the caller, but never a new session with the same id. @throws `session_unknown` */
export async function deleteSession(services: SessionServices, caller: Caller, sessionId: string): Promise<void> {
  for (let isGone = false; !isGone; ) {
    const { streamId, version } = await requireSession(services, caller, sessionId)
    isGone = await services.manager.deleteStream(streamId, version)
  }
}

/** Authorizes an open stream again. @throws if the caller lost access, is another principal now, or the session is gone */
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

/** Authorizes a request again, now that more of it is known. @throws if the caller may not, or is another principal now */
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
    throw new HttpError('forbidden', 'the credentials belong to another principal now: send the request again')
}

/** Runs `work` in a session of the caller and creates the session if needed. A new session is deleted again if `work` throws. */
export async function withSession<T>(
  services: SessionServices,
  caller: Caller,
  sessionId: string,
  work: (session: StreamInfo) => Promise<T>,
): Promise<T> {
  const found = await findSession(services, caller, sessionId)
  const isNew = found === null && (await createOwned(services, caller, sessionId))
  // Another request may have deleted it meanwhile.
  const session = found ?? (await requireSession(services, caller, sessionId))
  try {
    return await work(session)
  } catch (error) {
    if (isNew) await deleteIfUnused(services, session).catch(() => {})
    throw error
  }
}

/** Creates a session for the caller. Returns false if the id is in use. @throws `sessions_limit` */
async function createOwned(services: SessionServices, { owner }: Caller, sessionId: string): Promise<boolean> {
  const opened = await createWithinLimit(services, owner, () => services.manager.openSession(owner, sessionId))
  return opened?.isNew ?? false
}

/** Creates a session within the limit of its owner. Creations of one owner run one at a time in this process. @throws `sessions_limit` */
export async function createWithinLimit<T>(
  services: SessionServices,
  owner: string | null,
  create: () => Promise<T>,
): Promise<T> {
  const created =
    // Without `authorize`, sessions have no owner and no limit.
    owner === null
      ? await create()
      : await services.creations.run(owner, async () => {
          await assertRoomForSession(services, owner)
          return create()
        })
  services.lists.sessionCreated(owner)
  return created
}

/** Deletes a session if nothing was appended to it. */
async function deleteIfUnused({ manager }: SessionServices, { streamId, version, head }: StreamInfo): Promise<void> {
  // The version guards against entries that were appended meanwhile.
  if (head === 0) await manager.expireStream(streamId, 0, version)
}

/** @throws `sessions_limit` if the owner has as many sessions as allowed */
async function assertRoomForSession({ manager, limits }: SessionServices, owner: string): Promise<void> {
  const { sessions: limit } = limits
  let count = 0
  for (let after: string | undefined; count < limit; ) {
    const { streams, next } = await manager.listStreams(owner, {
      limit: PAGE_SIZE,
      ...(after !== undefined && { after }),
    })
    count += streams.length
    if (next === null) break
    after = next
  }
  if (count >= limit) throw new HttpError('sessions_limit', `sessions: expected at most ${limit}: delete one first`)
}

/** Number of sessions that are counted at once. */
const PAGE_SIZE = 1000
