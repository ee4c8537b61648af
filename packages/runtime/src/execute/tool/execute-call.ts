// Executes one call on the server: progress is written as drafts on a lane of its own, the outcome as a commit.

import type { BatchItem, Lane } from '@millrace/log'
import { MAX_PENDINGS, mustStop, pendingKey } from '@millrace/log/internal'
import type { Chunk, Operation } from '@millrace/protocol'
import type { Halt } from '../executor.ts'
import { type AgentExecution, callLane, checkpointOf } from '../program-execution.ts'
import { isUnreviewed, lateApprovalRequest, TOO_LARGE, TOO_MANY_PENDINGS } from './approval-requests.ts'
import {
  appendUnlessStopped,
  outcomeBatch,
  outcomeRefusal,
  replacedSubAgentEnds,
  type ToolCallSettings,
} from './call-commit.ts'
import { delegate } from './delegate.ts'
import { failedOutcome, type Outcome, outcomeOf } from './outcome.ts'
import { subAgentId, subAgentWait } from './sub-agent-wait.ts'

/**
 * Executes a call and commits its outcome. Errors of the call are outcomes. Returns why there is no outcome yet, if so.
 * @throws only if the run ends or the log fails.
 */
export async function executeCall(settings: ToolCallSettings): Promise<Halt | undefined> {
  const { work, step, call, tools } = settings
  const { writer } = work
  const tool = tools.get(call.toolName)
  if (tool && tool.executor !== 'provider' && call.approval === undefined) {
    const { toolCallId, input = null } = call
    const requested = { toolCallId, tool, input }
    const request = isUnreviewed(work, requested) ? await lateApprovalRequest(work, step, requested) : undefined
    if (request) return requestApproval(settings, request)
  }
  // Side effects start only while the lease is valid for sure.
  await writer.whenLeaseValid()
  work.signal.throwIfAborted()
  const halt = tool?.executor === 'agent' ? subAgentWait(work, tool, call.toolCallId) : undefined
  if (halt) return halt
  const span = work.telemetry.toolCall({ call, tool, step })
  const lane = callLane(work, step, call.toolCallId)
  if (tool?.executor === 'agent') {
    // Only one sub-agent may run for a call.
    const others = replacedSubAgentEnds(settings, subAgentId(work.runId, tool.program.name, call.toolCallId))
    if (others.length > 0)
      await appendUnlessStopped(work, () => [...others, { chunk: checkpointOf(lane, false), lane }])
    return span.within(() => delegate(settings, tool, span))
  }
  const serverTool = tool?.executor === 'server' ? tool : undefined
  const outcome = await span.within(() => outcomeOf(work, step, call, serverTool, lane))
  span.executed()
  work.signal.throwIfAborted()
  span.settle(await work.commitLock.run(() => commit(settings, lane, outcome)))
  return undefined
}

/** Requests approval of a call that is already in the log, or commits the decision of its rule. */
async function requestApproval(settings: ToolCallSettings, request: readonly BatchItem[]): Promise<undefined> {
  const { work, step, call } = settings
  const { toolCallId } = call
  const refusal = callLane(work, step, toolCallId).fits(request) ? TOO_MANY_PENDINGS : TOO_LARGE
  await work.commitLock.run(async () => {
    await appendUnlessStopped(work, ({ pendings }) => {
      if (refusal === TOO_MANY_PENDINGS && pendings.length < MAX_PENDINGS) return request
      return outcomeBatch(
        settings,
        { chunk: { type: 'tool-output-error', toolCallId, ...refusal, executor: 'server' } },
        [],
      )
    })
  })
}

/** Commits the outcome of a denied call. */
export async function denyCall({ work, step, call, tools }: ToolCallSettings): Promise<undefined> {
  const { toolCallId, approval } = call
  const { reason } = approval ?? {}
  const chunk: Chunk = { type: 'tool-output-denied', toolCallId, ...(reason !== undefined && { reason }) }
  await work.commitLock.run(async () => {
    work.signal.throwIfAborted()
    await commitBatch(work, callLane(work, step, toolCallId), outcomeBatch({ work, step, call, tools }, { chunk }, []))
  })
}

/** Settles a call whose deadline has passed, unless it was answered or the store's clock is behind. */
export async function expireCall(settings: ToolCallSettings, pending: string): Promise<void> {
  const { work, step, call } = settings
  const { writer, session } = work
  const { toolCallId, approval } = call
  const clock = await session.clock()
  const lane = callLane(work, step, toolCallId)
  await work.commitLock.run(async () => {
    await writer.decide(ticket => {
      const open = ticket.pendings.find(other => pendingKey(other) === pending)
      const isLate = open !== undefined && (open.deadline ?? clock) <= clock
      if (work.signal.aborted || mustStop(ticket) || !isLate) return undefined
      if (!pending.startsWith('approval:')) {
        const errorText = 'no client sent a result in time'
        const code = 'client_tool_timeout'
        return outcomeBatch(
          settings,
          { chunk: { type: 'tool-output-error', toolCallId, errorText, code, executor: 'client' } },
          [],
        )
      }
      const reason = 'the request was not answered in time'
      const response = { approvalId: approval?.id ?? '', approved: false, isAutomatic: true, reason }
      const denied: Chunk = { type: 'tool-output-denied', toolCallId, reason }
      return [
        { chunk: { type: 'tool-approval-response', toolCallId, ...response }, lane },
        ...outcomeBatch(settings, { chunk: denied }, []),
      ]
    })
  })
}

/** Commits a batch. If the ticket changed meanwhile, it commits again: an answer to another call does not affect it. */
async function commitBatch(work: AgentExecution, lane: Lane, batch: readonly BatchItem[]): Promise<void> {
  while ((await lane.commit(batch)).outcome === 'moved') work.signal.throwIfAborted()
}

/** Commits an outcome, or the error if it was rejected. Returns the committed chunk. */
async function commit(settings: ToolCallSettings, lane: Lane, outcome: Outcome): Promise<Chunk> {
  const { work, call } = settings
  const { agent } = work
  work.signal.throwIfAborted()
  const commitError = async (error: unknown) => {
    const failed = failedOutcome(work, call, error)
    await commitBatch(work, lane, outcomeBatch(settings, failed, []))
    return failed.chunk
  }
  let patches: readonly Operation[]
  try {
    patches = (await outcome.updates?.patches(agent.stateSchema)) ?? []
  } catch (error) {
    return commitError(error)
  }
  try {
    await commitBatch(work, lane, outcomeBatch(settings, outcome, patches))
    return outcome.chunk
  } catch (error) {
    const refusal = outcomeRefusal(error)
    if (refusal === undefined) throw error
    return commitError(refusal)
  }
}
