// Sessions as callers enter them: their own, and nobody is told of another's.

import type { StreamInfo } from '@millrace/log'
import { Refusal, sessionUnknown } from './error.ts'
import type { Action, Caller } from './guard/authorize.ts'
import type { Services } from './services.ts'

/** A session that is the caller's to enter; throws as if there were none otherwise. */
export async function enter(services: Services, caller: Caller, sessionId: string): Promise<StreamInfo> {
  const info = await services.manager.getInfo(sessionId)
  if (info === null || info.principal !== caller.owner) throw sessionUnknown(sessionId)
  return info
}

/** Asks again whether somebody who reads still may; throws where they may not, or are somebody else by now. */
export async function mayStill(
  services: Services,
  request: Request,
  caller: Caller,
  action: Action,
  sessionId: string | undefined,
): Promise<void> {
  const { principal, owner } = await services.authorize(request, action, sessionId)
  if (principal !== caller.principal || owner !== caller.owner)
    throw new Refusal('forbidden', 'you are somebody else by now: come again')
}

/** Does something in a session of the caller's, which is made where there is none; one that was made for nothing is gone again. */
export async function enterOrMake<T>(
  services: Services,
  caller: Caller,
  sessionId: string,
  work: () => Promise<T>,
): Promise<T> {
  const { manager } = services
  const isNew = (await manager.getInfo(sessionId)) === null && (await make(services, caller, sessionId))
  // Another may have made it meanwhile, for somebody else.
  await enter(services, caller, sessionId)
  try {
    return await work()
  } catch (error) {
    if (isNew) await unmake(services, sessionId).catch(() => {})
    throw error
  }
}

/** Makes a session of the caller's; false where there is one of that id, and throws where they have too many. */
async function make(services: Services, { owner }: Caller, sessionId: string): Promise<boolean> {
  await mustHaveRoom(services, owner)
  return services.manager.createStream(sessionId, owner ?? undefined)
}

/** Removes a session again, unless something has happened there already. */
async function unmake({ manager }: Services, sessionId: string): Promise<void> {
  if ((await manager.getInfo(sessionId))?.head === 0) await manager.expireStream(sessionId, 0)
}

/** Throws where somebody has as many sessions as they may. */
export async function mustHaveRoom({ manager, limits }: Services, owner: string | null): Promise<void> {
  const { sessions: most } = limits
  // Where nobody is asked who they are, all sessions are nobody's.
  if (owner === null) return
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
