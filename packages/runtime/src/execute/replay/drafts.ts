// Objects that models have shown and not finished: of first passes, which commits hold, and of answers that are under way. Where nothing will come of them
// any more, nobody is to wait for them.

import type { BatchItem, Lane, Writer } from '@millrace/log'
import type { Session } from '../../session/session.ts'
import { recordScope } from '../record-scope.ts'
import type { NodeExecution } from './execution.ts'
import { sealOf } from './seal.ts'

/** The object that readers see of what a hook's model answers: the same whenever the call is made again. */
export const objectIdOf = (runId: string, hookId: string): string => `${runId}:${hookId.replace('/', ':')}`

const FIRST = '/first'

/** The name of the record of a hook's first pass. */
export const firstIdOf = (hookId: string): string => `${hookId}${FIRST}`

/** The hooks of a run whose first passes the log holds, and that show an object which is not done. */
function draftsOf(session: Session, runId: string): readonly string[] {
  const own = session.view.internal?.hooks.filter(hook => hook.runId === runId && hook.hookId.endsWith(FIRST)) ?? []
  return own
    .map(({ hookId }) => hookId.slice(0, -FIRST.length))
    .filter(hookId => isStreaming(session, objectIdOf(runId, hookId)))
}

const isStreaming = (session: Session, streamId: string): boolean =>
  session.structured(streamId)?.status === 'streaming'

const invalidated = (streamId: string, reason: string) =>
  ({ type: 'structured-data-invalidated', streamId, reason }) as const

/** Takes away the drafts of a node that has ended without what would have come of them. */
export async function endDrafts({ work, at, lane }: NodeExecution, reason: string): Promise<void> {
  const { session, writer, runId, signal } = work
  await session.refresh()
  const prefix = `${recordScope(work)}${at.execution}/`
  for (const hookId of draftsOf(session, runId).filter(id => id.startsWith(prefix))) {
    // On the hook's own lane: what the node has said is sealed with its end.
    const own = writer.lane({ ...lane.origin, lane: `${lane.origin.lane}/${hookId.slice(prefix.length)}` })
    await work.turn(async () => {
      signal.throwIfAborted()
      await own.commit([invalidated(objectIdOf(runId, hookId), reason), sealOf(own)])
    })
  }
}

/** What the end of a run that failed says of objects that are not done: each on the lane that was showing it, as nobody else may. */
export function draftsEnded(session: Session, writer: Writer, reason: string): BatchItem[] {
  const { view } = session
  const { runId, agentType } = writer.main.origin
  const holders = new Map<string, Lane>()
  for (const { lane, agentId, undo } of view.drafts.filter(draft => draft.runId === runId)) {
    const type = view.agents.find(agent => agent.agentId === agentId)?.agentType ?? agentType
    for (const one of undo) {
      if ('streamId' in one) holders.set(one.streamId, writer.lane({ lane, agentId, agentType: type }))
    }
  }
  const kept = draftsOf(session, runId).map(hookId => objectIdOf(runId, hookId))
  const shown = [...holders.keys()].filter(id => id.startsWith(`${runId}:`) && isStreaming(session, id))
  return [...new Set([...kept, ...shown])].map(streamId => ({
    chunk: invalidated(streamId, reason),
    lane: holders.get(streamId) ?? writer.main,
  }))
}
