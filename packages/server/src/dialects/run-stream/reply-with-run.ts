import type { Encoder } from '@millrace/dialects'
import type { Run } from '@millrace/runtime'
import { sessionUnknown } from '../../errors/http-error.ts'
import type { Reply } from '../../http/reply.ts'
import type { RouteCall } from '../../routing/route.ts'
import { activeRunId, knownRun } from '../../runs/target-run.ts'
import { findSession } from '../../sessions/session-access.ts'
import type { RunStreamOptions } from './run-stream.ts'
import { streamRun } from './run-stream.ts'

interface FollowRunOptions<Event> extends Pick<RunStreamOptions<Event>, 'dialectFormat' | 'after'> {
  readonly sessionId: string
  /** The run id. @default the open run, or the next in the queue */
  readonly named: string | undefined
  readonly encoder: (run: Run) => Encoder<Event> | Promise<Encoder<Event>>
}

/** Streams an existing run to a client that joins later. Replies 204 if no run is named and none is active. */
export async function replyWithRun<Event>(call: RouteCall, options: FollowRunOptions<Event>): Promise<Reply> {
  const { services, caller } = call
  const { sessionId, named, encoder, dialectFormat, after } = options
  const identity = await findSession(services, caller, sessionId)
  const runId = named ?? (identity ? activeRunId(identity.ticket) : undefined)
  if (runId === undefined) return { status: 204, headers: {}, body: undefined }
  if (identity === null) throw sessionUnknown(sessionId)
  const run = await knownRun(services, identity, runId)
  return streamRun(call, caller, { run, identity, encoder: await encoder(run), dialectFormat, after })
}
