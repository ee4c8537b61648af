// The batches that end a run. An end is never refused (law 6), and contains only what may be public.

import { type BatchItem, LogError, type Ticket, type Writer } from '@millrace/log'
import { stopStatus } from '@millrace/log/internal'
import type { Agent, Chunk, FinishReason, RunStatus } from '@millrace/protocol'
import { excerpt } from '@millrace/protocol/internal'
import { MillraceError } from '../error/error.ts'
import type { Session } from '../session/session.ts'

/** Maximum length of a reason, in characters: it fits the smallest entry size that a log can be configured with. */
const MAX_REASON_LENGTH = 500

/** The end of a completed run. */
export const completedEnd = (finishReason: FinishReason, checkpointId?: string): Chunk[] => [
  { type: 'finish', finishReason },
  finishedChunk('completed', checkpointId),
]

/** The end of a stopped run. */
export const stoppedEnd = (ticket: Ticket, checkpointId?: string): Chunk[] => [
  { type: 'abort' },
  finishedChunk(stopStatus(ticket), checkpointId),
]

/** The end of a failed run. */
export function failedEnd(failure: MillraceError, checkpointId?: string): Chunk[] {
  const { code, category, retryable } = failure
  const message = excerpt(failure.message, MAX_REASON_LENGTH)
  return [
    { type: 'error', message, code, category, retryable, recoverable: false },
    { type: 'finish', finishReason: 'error' },
    finishedChunk('failed', checkpointId, message),
  ]
}

/** The ends of the open sub-agents of a run, or of those that match, with their own sub-agents. */
export function subAgentEnds(
  session: Session,
  writer: Writer,
  status: RunStatus,
  matches: (agent: Agent) => boolean = () => true,
): BatchItem[] {
  const { runId, lane, agentType: rootType } = writer.main.origin
  const open = session.openAgents(runId)
  const agents = new Map(open.map(agent => [agent.agentId, agent]))
  const mustEnd = (agent: Agent | undefined): boolean =>
    agent !== undefined && (matches(agent) || mustEnd(agents.get(agent.parentId)))
  // Snapshots of older versions have no lane for an agent: there, only agents call agents.
  const laneOf = (agentId: string): string => {
    const agent = agents.get(agentId)
    return agent?.lane ?? (agent ? `${laneOf(agent.parentId)}/${agent.toolCallId}` : lane)
  }
  return open.filter(mustEnd).map(({ agentId, agentType, toolCallId, parentId }) => ({
    chunk: { type: 'subagent-end', agentId, agentType, toolCallId, status },
    lane: writer.lane({
      lane: laneOf(agentId),
      agentId: parentId,
      agentType: agents.get(parentId)?.agentType ?? rootType,
    }),
  }))
}

function finishedChunk(status: RunStatus, checkpointId?: string, reason?: string): Chunk {
  return {
    type: 'run-finished',
    status,
    ...(checkpointId !== undefined && { checkpointId }),
    ...(reason !== undefined && { reason }),
  }
}

/** The error that a run may show. Details of unexpected errors go only to the logger. */
export function failureOf(error: unknown): MillraceError {
  if (MillraceError.isInstance(error)) return error
  if (error instanceof LogError) {
    return new MillraceError('internal_error', `the log rejected an entry of the run: ${error.code}`, { cause: error })
  }
  return new MillraceError('agent_failed', 'the agent failed', { cause: error })
}
