// How a run ends, as the batch that says so. An end is never refused (law 6), and says no more than what may be shown.

import { type BatchItem, LogError, type Ticket, type Writer } from '@millrace/log'
import { stopStatus } from '@millrace/log/internal'
import type { Agent, Chunk, FinishReason, RunStatus } from '@millrace/protocol'
import { MillraceError } from '../error/error.ts'
import { excerpt } from '../error/excerpt.ts'
import type { Session } from '../session/session.ts'

/** The longest reason that an end gives: the smallest entry that a log can be told to take holds it. */
const LONGEST_REASON = 500

/** The end of a run that came to its own. */
export const completed = (finishReason: FinishReason, checkpointId?: string): Chunk[] => [
  { type: 'finish', finishReason },
  ended('completed', checkpointId),
]

/** The end of a run that was asked to stop. */
export const stopped = (ticket: Ticket, checkpointId?: string): Chunk[] => [
  { type: 'abort' },
  ended(stopStatus(ticket), checkpointId),
]

/** The end of a run that failed. */
export function failed(failure: MillraceError, checkpointId?: string): Chunk[] {
  const { code, category, retryable } = failure
  const message = excerpt(failure.message, LONGEST_REASON)
  return [
    { type: 'error', message, code, category, retryable, recoverable: false },
    { type: 'finish', finishReason: 'error' },
    ended('failed', checkpointId, message),
  ]
}

/** The ends of the sub-agents that are left open where a run ends, or of some of them with all that work for them: who works for nobody stops. */
export function subAgentEnds(
  session: Session,
  writer: Writer,
  status: RunStatus,
  isMeant: (agent: Agent) => boolean = () => true,
): BatchItem[] {
  const { runId, lane, agentType: rootType } = writer.main.origin
  const open = session.openAgents(runId)
  const agents = new Map(open.map(agent => [agent.agentId, agent]))
  const isEnding = (agent: Agent | undefined): boolean =>
    agent !== undefined && (isMeant(agent) || isEnding(agents.get(agent.parentId)))
  // Said where it began; in a snapshot from before that was kept there are only agents that call each other.
  const laneOf = (agentId: string): string => {
    const agent = agents.get(agentId)
    return agent?.lane ?? (agent ? `${laneOf(agent.parentId)}/${agent.toolCallId}` : lane)
  }
  return open.filter(isEnding).map(({ agentId, agentType, toolCallId, parentId }) => ({
    chunk: { type: 'subagent-end', agentId, agentType, toolCallId, status },
    lane: writer.lane({
      lane: laneOf(agentId),
      agentId: parentId,
      agentType: agents.get(parentId)?.agentType ?? rootType,
    }),
  }))
}

function ended(status: RunStatus, checkpointId?: string, reason?: string): Chunk {
  return {
    type: 'run-finished',
    status,
    ...(checkpointId !== undefined && { checkpointId }),
    ...(reason !== undefined && { reason }),
  }
}

/** What a run may say of why it failed: what nobody meant to be shown stays with the logger. */
export function failureOf(error: unknown): MillraceError {
  if (MillraceError.isInstance(error)) return error
  if (error instanceof LogError) {
    return new MillraceError('internal_error', `the log refused the run: ${error.code}`, { cause: error })
  }
  return new MillraceError('agent_failed', 'the agent failed', { cause: error })
}
