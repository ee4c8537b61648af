// What the hooks of a node that has failed, or has ended without them, leave open below their lanes: calls, and those who work for them.

import { mustStop, type Said } from '@millrace/log'
import type { Chunk, ToolPart } from '@millrace/protocol'
import { childrenEnded } from '../drive/ending.ts'
import type { ReasonStep } from '../hooks/reason.ts'
import { type Execution, sealOf } from './execution.ts'
import { recordsEnded } from './scope.ts'

/** Takes back what calls and sub-agents of a node's hooks have said since their last commits: who goes on with them says it again. */
export async function takeBackBelow({ work, lane, at }: Execution, reason: string): Promise<void> {
  const { session, writer, runId } = work
  const { origin } = lane
  // What was on its way when they were told to stop is there by then.
  await work.turn(async () => {})
  await writer.flush()
  await session.sync(writer.cursor.sequence)
  const { view } = session
  const drafts = [...view.drafts, ...(view.internal?.drafts ?? [])]
  for (const { lane, agentId } of drafts.filter(draft => draft.runId === runId)) {
    if (!lane.startsWith(`${origin.lane}/`)) continue
    const { agentType } = view.agents.find(agent => agent.agentId === agentId) ?? origin
    await writer.lane({ lane, agentId, agentType, step: at.step }).discard({ reason })
  }
}

/** Ends the calls that hooks of a node have left without an outcome, and who works for them. */
export async function endCalls(execution: Execution): Promise<void> {
  const { work, lane, replay } = execution
  const { session, writer, runId, agentId } = work
  const ids = new Set(replay.partsOf('').flatMap(({ value }) => toolCallIdsIn(value)))
  if (ids.size === 0) return
  await work.turn(async () => {
    await session.sync(writer.cursor.sequence)
    const calls = [session.message(runId, agentId), session.internalMessage(runId, agentId)]
      .flatMap(message => message?.parts ?? [])
      .filter((part): part is ToolPart => 'toolCallId' in part && ids.has(part.toolCallId) && isOpen(part))
    if (calls.length === 0) return
    const isMeant = (agent: { parentId: string; toolCallId: string }) =>
      agent.parentId === agentId && ids.has(agent.toolCallId)
    const children = childrenEnded(session, writer, 'interrupted', isMeant)
    const records = children.flatMap(({ chunk }) =>
      chunk.type === 'subagent-end' ? recordsEnded(session, { runId, agentId: chunk.agentId }, lane) : [],
    )
    const outcomes = calls.map(({ toolCallId, executor = 'server' }): Said => {
      const errorText = 'nobody waits for it any more'
      const chunk: Chunk = { type: 'tool-output-error', toolCallId, errorText, code: 'interrupted', executor }
      return { chunk, lane }
    })
    await writer.decide(ticket => {
      if (mustStop(ticket) || work.signal.aborted) return undefined
      return [...records, ...children, ...outcomes, { chunk: sealOf(lane), lane }]
    })
    await session.sync(writer.cursor.sequence)
  })
}

const isOpen = ({ state }: ToolPart): boolean => !state.startsWith('output-')

/** The calls of a step of a model's, if a record is of one. */
function toolCallIdsIn(value: unknown): readonly string[] {
  const { toolCallIds } = Object(value) as Partial<ReasonStep>
  return Array.isArray(toolCallIds) ? toolCallIds : []
}
