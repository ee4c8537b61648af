// Sessions as callers enter them: their own, and nobody is told of another's.

import type { StreamInfo } from '@millrace/log'
import { Refusal, sessionUnknown } from './error.ts'
import type { Caller } from './guard/authorize.ts'
import type { Services } from './services.ts'

/** A session that is the caller's to enter; throws as if there were none otherwise. */
export async function enter(services: Services, caller: Caller, sessionId: string): Promise<StreamInfo> {
  const info = await services.manager.getInfo(sessionId)
  if (info === null || info.principal !== caller.owner) throw sessionUnknown(sessionId)
  return info
}

/** The same, and makes the session where there is none. */
export async function enterOrMake(services: Services, caller: Caller, sessionId: string): Promise<StreamInfo> {
  const { manager } = services
  if ((await manager.getInfo(sessionId)) === null) await make(services, caller, sessionId)
  // Another may have made it meanwhile, for somebody else.
  return enter(services, caller, sessionId)
}

/** Makes a session of the caller's; throws where they have too many. */
export async function make(services: Services, { owner }: Caller, sessionId: string): Promise<void> {
  const { manager, limits } = services
  // Where nobody is asked who they are, all sessions are nobody's.
  if (owner !== null && (await hasAsMany(services, owner))) {
    throw new Refusal('sessions_limit', `more than ${limits.sessions} sessions: delete one first`)
  }
  await manager.createStream(sessionId, owner ?? undefined)
}

async function hasAsMany({ manager, limits }: Services, owner: string): Promise<boolean> {
  let count = 0
  for (let after: string | undefined; ; ) {
    const limit = Math.min(PAGE, limits.sessions)
    const { streams, next } = await manager.listStreams(owner, { limit, ...(after !== undefined && { after }) })
    count += streams.length
    if (count >= limits.sessions || next === null) return count >= limits.sessions
    after = next
  }
}

const PAGE = 1000
