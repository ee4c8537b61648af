// What hooks leave open below their lanes, where they fail or their node does: calls, and those who work for them.

import type { BatchItem } from '@millrace/log'
import { mustStop } from '@millrace/log/internal'
import type { Message, ToolPart } from '@millrace/protocol'
import { recordEnds } from '../record-scope.ts'
import { subAgentEnds } from '../run-end.ts'
import type { HookCall } from './call.ts'
import type { NodeExecution } from './execution.ts'
import { sealOf } from './seal.ts'

/** Settles what a hook that has failed was waiting for: its node may go on without it, and for long. */
export async function settleBelow({ execution, hookId, lane }: HookCall, reason: string): Promise<void> {
  await takeBackBelow(execution, reason, lane)
  await endCalls(execution, `${hookId}/`, lane)
}

/** Takes back what calls and sub-agents of hooks have said since their last commits: who goes on with them says it again. */
export async function takeBackBelow(
  { work, at, lane }: NodeExecution,
  reason: string,
  { origin } = lane,
): Promise<void> {
  const { session, writer, runId } = work
  // What was on its way when they were told to stop is there by then.
  await work.turn(async () => {})
  await writer.flush()
  await session.refresh()
  const { view } = session
  const drafts = [...view.drafts, ...(view.internal?.drafts ?? [])]
  for (const { lane, agentId } of drafts.filter(draft => draft.runId === runId)) {
    if (!lane.startsWith(`${origin.lane}/`)) continue
    const { agentType } = view.agents.find(agent => agent.agentId === agentId) ?? origin
    await writer.lane({ lane, agentId, agentType, step: at.step }).discard({ reason })
  }
}

/** Ends the calls that hooks of a node, or one of them, have left without an outcome, and who works for them. */
export async function endCalls(execution: NodeExecution, prefix = '', lane = execution.lane): Promise<void> {
  const { work, replay } = execution
  const { session, writer, runId, agentId } = work
  const ids = new Set(replay.partsOf(prefix).flatMap(({ value }) => toolCallIdsIn(value)))
  if (ids.size === 0) return
  await work.turn(async () => {
    await session.refresh()
    const openIn = (message: Message | undefined) =>
      (message?.parts ?? []).filter(
        (part): part is ToolPart => 'toolCallId' in part && ids.has(part.toolCallId) && isOpen(part),
      )
    const calls = openIn(session.message(runId, agentId))
    const hidden = openIn(session.internalMessage(runId, agentId))
    if (calls.length + hidden.length === 0) return
    const isMeant = (agent: { parentId: string; toolCallId: string }) =>
      agent.parentId === agentId && ids.has(agent.toolCallId)
    const children = subAgentEnds(session, writer, 'interrupted', isMeant)
    const records = children.flatMap(({ chunk }) =>
      chunk.type === 'subagent-end' ? recordEnds(session, { runId, agentId: chunk.agentId }, lane) : [],
    )
    const outcomeOf = ({ toolCallId, executor = 'server' }: ToolPart): BatchItem => {
      const errorText = 'nobody waits for it any more'
      return { chunk: { type: 'tool-output-error', toolCallId, errorText, code: 'interrupted', executor }, lane }
    }
    // Who did not see a call sees nothing of its end (law 10).
    const outcomes = [...calls.map(outcomeOf), ...hidden.map(call => ({ ...outcomeOf(call), internal: true }))]
    await writer.decide(ticket => {
      if (mustStop(ticket) || work.signal.aborted) return undefined
      return [...records, ...children, ...outcomes, { chunk: sealOf(lane), lane }]
    })
    await session.refresh()
  })
}

const isOpen = ({ state }: ToolPart): boolean => !state.startsWith('output-')

/** The calls of a step of a model's, if a record is of one. */
function toolCallIdsIn(value: unknown): readonly string[] {
  const { toolCallIds } = Object(value) as { readonly toolCallIds?: readonly string[] }
  return Array.isArray(toolCallIds) ? toolCallIds : []
}
