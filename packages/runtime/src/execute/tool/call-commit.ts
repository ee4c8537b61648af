// The commit of a call's outcome.

import { type BatchItem, LogError, type Ticket } from '@millrace/log'
import { mustStop } from '@millrace/log/internal'
import type { Agent, Chunk, Operation, ToolPart } from '@millrace/protocol'
import type { Callable } from '../../define/tool.ts'
import { ToolError } from '../../error/error.ts'
import { finishingCalls, positionOf } from '../agent-position.ts'
import { type AgentExecution, callLane, checkpointOf } from '../program-execution.ts'
import { subAgentEnds } from '../run-end.ts'
import type { Outcome } from './outcome.ts'

export interface ToolCallSettings {
  readonly work: AgentExecution
  readonly step: number
  readonly call: ToolPart
  /** The tools of the step, by name. */
  readonly tools: ReadonlyMap<string, Callable>
}

/** The ends of sub-agents that run for a call, unless `currentAgentId` does: their tool definition was replaced since. */
export function replacedSubAgentEnds({ work, call }: ToolCallSettings, currentAgentId?: string): BatchItem[] {
  const { session, writer, runId, agentId } = work
  const { toolCallId } = call
  if (!session.mayHaveAgentFor(toolCallId) || (currentAgentId !== undefined && session.hasAgent(runId, currentAgentId)))
    return []
  const matches = (agent: Agent) => agent.parentId === agentId && agent.toolCallId === toolCallId
  return subAgentEnds(session, writer, 'interrupted', matches)
}

/** Appends a batch with the current ticket. @throws if the run stops: then the end of the run settles the rest. */
export async function appendUnlessStopped(
  work: AgentExecution,
  build: (ticket: Ticket) => readonly BatchItem[],
): Promise<void> {
  const done = await work.writer.decide(ticket => (mustStop(ticket) || work.signal.aborted ? undefined : build(ticket)))
  if (done !== undefined) return
  work.signal.throwIfAborted()
  throw new LogError('refused', 'the run stops')
}

/** The batch of an outcome on the current session, starting with the ends of the call's sub-agents. */
export function outcomeBatch(
  settings: ToolCallSettings,
  { chunk, output }: Outcome,
  patches: readonly Operation[],
  ends: readonly BatchItem[] = replacedSubAgentEnds(settings),
): readonly BatchItem[] {
  const { work, step, call } = settings
  const lane = callLane(work, step, call.toolCallId)
  const main = work.lane(step)
  const batch: Chunk[] = [chunk]
  if (patches.length > 0) batch.push({ type: 'state-patch', patches: [...patches] })
  if (output !== undefined && isFinal(settings)) batch.push({ type: 'output', output })
  batch.push(checkpointOf(lane, false))
  const items: BatchItem[] = [...ends, ...batch.map(batchChunk => ({ chunk: batchChunk, lane }))]
  // The last call of a step closes the step on the agent's lane.
  if (isLast(settings)) items.push({ chunk: checkpointOf(main, true), lane: main })
  return items
}

/** Whether no other call of the step is open. */
function isLast({ work, call }: ToolCallSettings): boolean {
  const { open } = positionOf(work.message())
  return open.every(({ toolCallId }) => toolCallId === call.toolCallId)
}

/** Whether the output of a call is the run's output: that of the first finishing call in the model's order. */
function isFinal({ work, call, tools }: ToolCallSettings): boolean {
  const tool = tools.get(call.toolName)
  // The output of a sub-agent or of a hook's model goes to its caller.
  if (tool?.executor !== 'server' || !tool.finish || work.parent) return false
  const { calls } = positionOf(work.message())
  const index = calls.findIndex(({ toolCallId }) => toolCallId === call.toolCallId)
  return finishingCalls(calls.slice(0, index), tools).length === 0
}

/** The error of an outcome that the log rejected; undefined for other errors. */
export function outcomeRefusal(error: unknown): ToolError | undefined {
  if (!(error instanceof LogError) || (error.code !== 'too-large' && error.code !== 'invalid')) return undefined
  if (error.message.startsWith('chunk state-patch:')) {
    return new ToolError('the state change exceeds the size limit of the log: change less, or store a reference', {
      code: 'tool_state_refused',
      cause: error,
    })
  }
  return new ToolError('the output exceeds the size limit of the log: return less, or a link', {
    code: 'tool_output_too_large',
    cause: error,
  })
}
