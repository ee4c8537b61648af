import type { Encoder } from '@millrace/dialects'
import type { Reply } from '../../http/reply.ts'
import type { RouteCall } from '../../routing/route.ts'
import { type AcceptedTurn, handleClientRequest, type TurnRequest } from '../client-request/handle-client-request.ts'
import { type DialectFormat, streamRun } from './run-stream.ts'

/** The encoding of a run for its client. */
export interface TurnReplyOptions<Event> {
  readonly dialectFormat: DialectFormat<Event>
  readonly encoder: (turn: AcceptedTurn) => Encoder<Event>
}

/** Performs a client's request exactly once and streams its run. The stream slot is taken first. */
export async function replyWithRequestedRun<Event>(
  call: RouteCall,
  turnRequest: TurnRequest,
  { dialectFormat, encoder }: TurnReplyOptions<Event>,
): Promise<Reply> {
  return withStreamSlot(call, async release => {
    const turn = await handleClientRequest(call, turnRequest)
    return streamRun(call, turn.caller, { ...turn, encoder: encoder(turn), dialectFormat, release })
  })
}

/** Runs `work`, which ends in a stream, with a stream slot that is held until the stream ends. @throws `streams_limit` before anything is done */
export async function withStreamSlot<T>(
  { services, caller }: Pick<RouteCall, 'services' | 'caller'>,
  work: (release: () => void) => Promise<T>,
): Promise<T> {
  const release = services.limiter.acquireStream(caller.principal)
  try {
    return await work(release)
  } catch (error) {
    release()
    throw error
  }
}
