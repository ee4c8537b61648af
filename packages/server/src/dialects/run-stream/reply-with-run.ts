import type { Encoder } from '@millrace/dialects'
import type { Reply } from '../../http/reply.ts'
import type { RouteCall } from '../../routing/route.ts'
import { activeRunId, knownRun } from '../../runs/target-run.ts'
import { requireSession } from '../../sessions/session-access.ts'
import type { RunStreamOptions } from './run-stream.ts'
import { streamRun } from './run-stream.ts'

interface FollowRunOptions<Event> extends Pick<RunStreamOptions<Event>, 'dialectFormat' | 'after'> {
  readonly sessionId: string
  /** The run that is meant; the one under way, or the next, if nothing is said. */
  readonly named: string | undefined
  readonly encoder: (runId: string) => Encoder<Event> | Promise<Encoder<Event>>
}

/** A run of a session in a dialect, for who comes later: one that is named, also when it has ended; 204 where none is named and none is under way. */
export async function replyWithRun<Event>(call: RouteCall, following: FollowRunOptions<Event>): Promise<Reply> {
  const { services, caller } = call
  const { sessionId, named, encoder, dialectFormat, after } = following
  const info = await services.manager.getInfo(sessionId)
  const runId = named ?? (info ? activeRunId(info.ticket) : undefined)
  // Who looks for what may not be there is told the same of what is somebody else's.
  const isTheirs = info !== null && info.principal === caller.owner
  if (runId === undefined || (named === undefined && !isTheirs)) return { status: 204, headers: {}, body: undefined }
  const identity = await requireSession(services, caller, sessionId)
  const run = await knownRun(services, sessionId, runId)
  return streamRun(call, caller, { run, identity, encoder: await encoder(runId), dialectFormat, after })
}
