// Ends what hooks leave unfinished when they or their node fail or end: lanes of sub-agents, tool calls, and structured objects.

import type { BatchItem, Lane, Writer } from '@millrace/log'
import { mustStop } from '@millrace/log/internal'
import type { Message, ToolPart } from '@millrace/protocol'
import type { Session } from '../../session/session.ts'
import { recordEnds, recordScope } from '../record-scope.ts'
import { subAgentEnds } from '../run-end.ts'
import type { HookCall, NodeExecution } from './execution.ts'
import { checkpointOf, hookOfFirstPass, hookStreamId } from './journal.ts'

/** Ends what a failed hook leaves unfinished. Its node may catch the error and run on for long. */
export async function cleanUpHook({ execution, hookId, lane }: HookCall, reason: string): Promise<void> {
  await discardChildLanes(execution, reason, lane)
  await endOpenCalls(execution, `${hookId}/`, lane)
}

/** Discards what tool calls and sub-agents below a lane have written since their last commits. */
export async function discardChildLanes(
  { work, at, lane }: NodeExecution,
  reason: string,
  { origin } = lane,
): Promise<void> {
  const { session, writer, runId } = work
  // Waits for writes that were queued before the abort.
  await work.commitLock.idle()
  await writer.flush()
  const { view } = await session.current()
  const drafts = [...view.drafts, ...(view.internal?.drafts ?? [])]
  for (const { lane, agentId } of drafts.filter(draft => draft.runId === runId)) {
    if (!lane.startsWith(`${origin.lane}/`)) continue
    const { agentType } = view.agents.find(agent => agent.agentId === agentId) ?? origin
    await writer.lane({ lane, agentId, agentType, step: at.step }).discard({ reason })
  }
}

/** Ends the tool calls without an outcome of a node, or of one hook by its prefix, and the sub-agents that work for them. */
export async function endOpenCalls(execution: NodeExecution, prefix = '', lane = execution.lane): Promise<void> {
  const { work, replay } = execution
  const { session, writer, runId, agentId } = work
  const ids = new Set(replay.resultsUnder(prefix).flatMap(({ value }) => toolCallIdsIn(value)))
  if (ids.size === 0) return
  await work.commitLock.run(async () => {
    const openIn = (message: Message | undefined) =>
      (message?.parts ?? []).filter(
        (part): part is ToolPart => 'toolCallId' in part && ids.has(part.toolCallId) && isOpen(part),
      )
    const calls = openIn(session.message(runId, agentId))
    const internalCalls = openIn(session.internalMessage(runId, agentId))
    if (calls.length + internalCalls.length === 0) return
    const isChild = (agent: { parentId: string; toolCallId: string }) =>
      agent.parentId === agentId && ids.has(agent.toolCallId)
    const childEnds = subAgentEnds(session, writer, 'interrupted', isChild)
    const records = childEnds.flatMap(({ chunk }) =>
      chunk.type === 'subagent-end' ? recordEnds(session, { runId, agentId: chunk.agentId }, lane) : [],
    )
    const outcomeOf = ({ toolCallId, executor = 'server' }: ToolPart): BatchItem => {
      const errorText = 'the call is no longer needed'
      return { chunk: { type: 'tool-output-error', toolCallId, errorText, code: 'interrupted', executor }, lane }
    }
    // Readers who did not see a call do not see its end (law 10).
    const outcomes = [...calls.map(outcomeOf), ...internalCalls.map(call => ({ ...outcomeOf(call), internal: true }))]
    await writer.decide(ticket => {
      if (mustStop(ticket) || work.signal.aborted) return undefined
      return [...records, ...childEnds, ...outcomes, { chunk: checkpointOf(lane), lane }]
    })
  })
}

const isOpen = ({ state }: ToolPart): boolean => !state.startsWith('output-')

/** The tool calls in the record of a model step; none for other records. */
function toolCallIdsIn(value: unknown): readonly string[] {
  const { toolCallIds } = Object(value) as { readonly toolCallIds?: readonly string[] }
  return Array.isArray(toolCallIds) ? toolCallIds : []
}

/** The hooks of a run that have a committed first pass and an unfinished object. */
function unfinishedFirstPasses(session: Session, runId: string): readonly string[] {
  const hooks = session.view.internal?.hooks.filter(hook => hook.runId === runId) ?? []
  return hooks
    .flatMap(({ hookId }) => hookOfFirstPass(hookId) ?? [])
    .filter(hookId => isStreaming(session, hookStreamId(runId, hookId)))
}

const isStreaming = (session: Session, streamId: string): boolean =>
  session.structured(streamId)?.status === 'streaming'

const invalidated = (streamId: string, reason: string) =>
  ({ type: 'structured-data-invalidated', streamId, reason }) as const

/** Invalidates the unfinished objects of a node that has ended. */
export async function invalidateUnfinishedObjects({ work, at, lane }: NodeExecution, reason: string): Promise<void> {
  const { session, writer, runId, signal } = work
  const prefix = `${recordScope(work)}${at.execution}/`
  for (const hookId of unfinishedFirstPasses(await session.current(), runId).filter(id => id.startsWith(prefix))) {
    // On the hook's lane, because the node's end commits the lane of the node.
    const hookLane = writer.lane({ ...lane.origin, lane: `${lane.origin.lane}/${hookId.slice(prefix.length)}` })
    await work.commitLock.run(async () => {
      signal.throwIfAborted()
      await hookLane.commit([invalidated(hookStreamId(runId, hookId), reason), checkpointOf(hookLane)])
    })
  }
}

/** The entries that invalidate all unfinished objects when a run fails, each on the lane that owns the object. */
export function unfinishedObjectEntries(session: Session, writer: Writer, reason: string): BatchItem[] {
  const { view } = session
  const { runId, agentType } = writer.main.origin
  const owners = new Map<string, Lane>()
  for (const { lane, agentId, undo } of view.drafts.filter(draft => draft.runId === runId)) {
    const type = view.agents.find(agent => agent.agentId === agentId)?.agentType ?? agentType
    for (const change of undo) {
      if ('streamId' in change) owners.set(change.streamId, writer.lane({ lane, agentId, agentType: type }))
    }
  }
  const committed = unfinishedFirstPasses(session, runId).map(hookId => hookStreamId(runId, hookId))
  const uncommitted = [...owners.keys()].filter(id => id.startsWith(`${runId}:`) && isStreaming(session, id))
  return [...new Set([...committed, ...uncommitted])].map(streamId => ({
    chunk: invalidated(streamId, reason),
    lane: owners.get(streamId) ?? writer.main,
  }))
}
