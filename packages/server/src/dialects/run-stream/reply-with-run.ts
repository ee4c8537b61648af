import type { Encoder } from '@millrace/dialects'
import type { Reply } from '../../http/reply.ts'
import type { RouteCall } from '../../routing/route.ts'
import { activeRunId, knownRun } from '../../runs/target-run.ts'
import { requireSession } from '../../sessions/session-access.ts'
import type { RunStreamOptions } from './run-stream.ts'
import { streamRun } from './run-stream.ts'

interface FollowRunOptions<Event> extends Pick<RunStreamOptions<Event>, 'dialectFormat' | 'after'> {
  readonly sessionId: string
  /** The run id. @default the open run, or the next in the queue */
  readonly named: string | undefined
  readonly encoder: (runId: string) => Encoder<Event> | Promise<Encoder<Event>>
}

/** Streams an existing run to a client that joins later. Replies 204 if no run is named and none is active. */
export async function replyWithRun<Event>(call: RouteCall, options: FollowRunOptions<Event>): Promise<Reply> {
  const { services, caller } = call
  const { sessionId, named, encoder, dialectFormat, after } = options
  const info = await services.manager.getInfo(sessionId)
  const runId = named ?? (info ? activeRunId(info.ticket) : undefined)
  // A session of another owner looks like one that does not exist.
  const isOwn = info !== null && info.principal === caller.owner
  if (runId === undefined || (named === undefined && !isOwn)) return { status: 204, headers: {}, body: undefined }
  const identity = await requireSession(services, caller, sessionId)
  const run = await knownRun(services, sessionId, runId)
  return streamRun(call, caller, { run, identity, encoder: await encoder(runId), dialectFormat, after })
}
