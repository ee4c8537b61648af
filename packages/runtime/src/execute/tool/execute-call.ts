// One call of the server's: progress as words on a lane of its own, the outcome as a commit of its own.

import type { BatchItem, Lane } from '@millrace/log'
import { MAX_PENDINGS, mustStop, pendingKey } from '@millrace/log/internal'
import type { Chunk, Operation } from '@millrace/protocol'
import type { Halt } from '../executor.ts'
import { type AgentExecution, callLane, checkpointOf } from '../program-execution.ts'
import { isUnreviewed, lateApprovalRequest, TOO_LARGE, TOO_MANY } from './approval-requests.ts'
import {
  appendUnlessStopped,
  outcomeBatch,
  outcomeRefusal,
  replacedSubAgentEnds,
  type ToolCallSettings,
} from './call-commit.ts'
import { delegate } from './delegate.ts'
import { failed, type Outcome, outcomeOf } from './outcome.ts'
import { subAgentId, subAgentWait } from './sub-agent-wait.ts'

/** Runs a call and commits its outcome. What goes wrong in it is an outcome too; only the end of the run is thrown. Tells why there is no outcome yet, if there is none. */
export async function executeCall(settings: ToolCallSettings): Promise<Halt | undefined> {
  const { work, step, call, tools } = settings
  const { writer } = work
  const tool = tools.get(call.toolName)
  if (tool && tool.executor !== 'provider' && call.approval === undefined) {
    const { toolCallId, input = null } = call
    const late = { toolCallId, tool, input }
    const asking = isUnreviewed(work, late) ? await lateApprovalRequest(work, step, late) : undefined
    if (asking) return ask(settings, asking)
  }
  // What others must not do meanwhile begins only while the lease surely lasts.
  await writer.sure()
  work.signal.throwIfAborted()
  const halt = tool?.executor === 'agent' ? subAgentWait(work, tool, call.toolCallId) : undefined
  if (halt) return halt
  const told = work.telemetry.toolCall({ call, tool, step })
  const lane = callLane(work, step, call.toolCallId)
  if (tool?.executor === 'agent') {
    // Two do not work for one call.
    const others = replacedSubAgentEnds(settings, subAgentId(work.runId, tool.program.name, call.toolCallId))
    if (others.length > 0)
      await appendUnlessStopped(work, () => [...others, { chunk: checkpointOf(lane, false), lane }])
    return told.within(() => delegate(settings, tool, told))
  }
  const own = tool?.executor === 'server' ? tool : undefined
  const outcome = await told.within(() => outcomeOf(work, step, call, own, lane))
  told.executed()
  work.signal.throwIfAborted()
  told.settle(await work.turn(() => commit(settings, lane, outcome)))
  return undefined
}

/** Asks for approval of a call that the log holds already, or says what was decided about it. */
async function ask(settings: ToolCallSettings, asking: readonly BatchItem[]): Promise<undefined> {
  const { work, step, call } = settings
  const { toolCallId } = call
  const refused = callLane(work, step, toolCallId).fits(asking) ? TOO_MANY : TOO_LARGE
  await work.turn(async () => {
    await work.session.refresh()
    await appendUnlessStopped(work, ({ pendings }) => {
      if (refused === TOO_MANY && pendings.length < MAX_PENDINGS) return asking
      return outcomeBatch(
        settings,
        { chunk: { type: 'tool-output-error', toolCallId, ...refused, executor: 'server' } },
        [],
      )
    })
  })
}

/** Settles a call that was denied. */
export async function denyCall({ work, step, call, tools }: ToolCallSettings): Promise<undefined> {
  const { toolCallId, approval } = call
  const { reason } = approval ?? {}
  const chunk: Chunk = { type: 'tool-output-denied', toolCallId, ...(reason !== undefined && { reason }) }
  await work.turn(async () => {
    await work.session.refresh()
    work.signal.throwIfAborted()
    await commitBatch(work, callLane(work, step, toolCallId), outcomeBatch({ work, step, call, tools }, { chunk }, []))
  })
}

/** Settles a call that nobody answered in time, unless somebody was faster, or by the store's clock there is time left. */
export async function expireCall(settings: ToolCallSettings, pending: string): Promise<void> {
  const { work, step, call } = settings
  const { writer, session } = work
  const { toolCallId, approval } = call
  const clock = await session.clock()
  const lane = callLane(work, step, toolCallId)
  await work.turn(async () => {
    await session.refresh()
    await writer.decide(ticket => {
      const open = ticket.pendings.find(other => pendingKey(other) === pending)
      const isLate = open !== undefined && (open.deadline ?? clock) <= clock
      if (work.signal.aborted || mustStop(ticket) || !isLate) return undefined
      if (!pending.startsWith('approval:')) {
        const errorText = 'no client gave a result in time'
        const code = 'client_tool_timeout'
        return outcomeBatch(
          settings,
          { chunk: { type: 'tool-output-error', toolCallId, errorText, code, executor: 'client' } },
          [],
        )
      }
      const reason = 'nobody answered in time'
      const said = { approvalId: approval?.id ?? '', approved: false, isAutomatic: true, reason }
      const denied: Chunk = { type: 'tool-output-denied', toolCallId, reason }
      return [
        { chunk: { type: 'tool-approval-response', toolCallId, ...said }, lane },
        ...outcomeBatch(settings, { chunk: denied }, []),
      ]
    })
  })
}

/** Commits what became of a call, on whatever ticket: an answer to another that comes meanwhile changes nothing about it. */
async function commitBatch(work: AgentExecution, lane: Lane, batch: readonly BatchItem[]): Promise<void> {
  while ((await lane.commit(batch)).outcome === 'moved') work.signal.throwIfAborted()
}

/** Commits an outcome, or that it was refused; tells which. */
async function commit(settings: ToolCallSettings, lane: Lane, outcome: Outcome): Promise<Chunk> {
  const { work, call } = settings
  const { session, agent } = work
  work.signal.throwIfAborted()
  await session.refresh()
  const refuse = async (error: unknown) => {
    const refused = failed(work, call, error)
    await commitBatch(work, lane, outcomeBatch(settings, refused, []))
    return refused.chunk
  }
  let patches: readonly Operation[]
  try {
    patches = (await outcome.updates?.patches(agent.stateSchema)) ?? []
  } catch (error) {
    return refuse(error)
  }
  try {
    await commitBatch(work, lane, outcomeBatch(settings, outcome, patches))
    return outcome.chunk
  } catch (error) {
    const refusal = outcomeRefusal(error)
    if (refusal === undefined) throw error
    return refuse(refusal)
  }
}
