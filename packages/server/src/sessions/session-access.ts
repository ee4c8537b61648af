// Access to sessions by their owner. Sessions of other owners look as if they did not exist.

import type { StreamInfo, StreamManager } from '@millrace/log'
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

/** Owner and incarnation of a session: tells it from a later session with the same id. */
export type SessionIdentity = Pick<StreamInfo, 'principal' | 'incarnation'>

/** The info of a session of the caller. @throws `session_unknown` */
export async function requireSession(
  services: SessionServices,
  caller: Caller,
  sessionId: string,
): Promise<StreamInfo> {
  const info = await services.manager.getInfo(sessionId)
  if (info === null || info.principal !== caller.owner) throw sessionUnknown(sessionId)
  return info
}

/** @throws `session_unknown` if the session exists and has another owner */
export async function assertOwnOrAbsent(
  { manager }: SessionServices,
  caller: Caller,
  sessionId: string,
): Promise<void> {
  const info = await manager.getInfo(sessionId)
  if (info !== null && info.principal !== caller.owner) throw sessionUnknown(sessionId)
}

/** Checks that the session is still the same one, after an operation by id alone. @throws `session_unknown` */
export async function assertSameSession(
  manager: StreamManager,
  sessionId: string,
  { incarnation }: SessionIdentity,
): Promise<void> {
  const info = await manager.getInfo(sessionId)
  if (info?.incarnation !== incarnation) throw sessionUnknown(sessionId)
}

/** Deletes a session of the caller, but never a new session with the same id. @throws `session_unknown` */
export async function deleteSession(services: SessionServices, caller: Caller, sessionId: string): Promise<void> {
  for (let isGone = false; !isGone; ) {
    const { version } = await requireSession(services, caller, sessionId)
    isGone = await services.manager.deleteStream(sessionId, version)
  }
}

/** Authorizes an open stream again. @throws if the caller lost access, is another principal now, or the session has another owner */
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
  const { manager } = services
  const isNew = (await manager.getInfo(sessionId)) === null && (await createOwned(services, caller, sessionId))
  // Another request may have created it meanwhile, for another owner.
  const session = await requireSession(services, caller, sessionId)
  try {
    return await work(session)
  } catch (error) {
    if (isNew) await deleteIfUnused(services, session).catch(() => {})
    throw error
  }
}

/** Creates a session for the caller. Returns false if the id is in use. @throws `sessions_limit` */
async function createOwned(services: SessionServices, { owner }: Caller, sessionId: string): Promise<boolean> {
  return createWithinLimit(services, owner, () => services.manager.createStream(sessionId, owner ?? undefined))
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
