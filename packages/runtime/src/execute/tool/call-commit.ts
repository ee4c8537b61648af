// The commit that settles a call.

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
  /** What could be called in the step, by its name. */
  readonly tools: ReadonlyMap<string, Callable>
}

/** The ends of the sub-agents at work for a call that cannot be any more, but for its own: the tool was another when they began. */
export function replacedSubAgentEnds({ work, call }: ToolCallSettings, own?: string): BatchItem[] {
  const { session, writer, runId, agentId } = work
  const { toolCallId } = call
  if (!session.mayHaveAgentFor(toolCallId) || (own !== undefined && session.hasAgent(runId, own))) return []
  const isMeant = (agent: Agent) => agent.parentId === agentId && agent.toolCallId === toolCallId
  return subAgentEnds(session, writer, 'interrupted', isMeant)
}

/** Appends a batch on whatever ticket, unless the run is to stop: then its end says the rest. */
export async function appendUnlessStopped(
  work: AgentExecution,
  build: (ticket: Ticket) => readonly BatchItem[],
): Promise<void> {
  const done = await work.writer.decide(ticket => (mustStop(ticket) || work.signal.aborted ? undefined : build(ticket)))
  if (done !== undefined) return
  work.signal.throwIfAborted()
  throw new LogError('refused', 'the run is to stop')
}

/** What the commit of an outcome says, on the session as it is; first that those end who worked for the call. */
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
  const said: BatchItem[] = [...ends, ...batch.map(own => ({ chunk: own, lane }))]
  // The last call of a step closes it, on the lane that made the calls.
  if (isLast(settings)) said.push({ chunk: checkpointOf(main, true), lane: main })
  return said
}

/** Whether no other call of the step is open. */
function isLast({ work, call }: ToolCallSettings): boolean {
  const { open } = positionOf(work.message())
  return open.every(({ toolCallId }) => toolCallId === call.toolCallId)
}

/** Whether the output of a call is the run's: of several finishing calls the first that the model made, whichever is done first. */
function isFinal({ work, call, tools }: ToolCallSettings): boolean {
  const tool = tools.get(call.toolName)
  // That of a sub-agent, or of a model that a workflow asks, is for whom it works.
  if (tool?.executor !== 'server' || !tool.finish || work.parent) return false
  const { calls } = positionOf(work.message())
  const place = calls.findIndex(({ toolCallId }) => toolCallId === call.toolCallId)
  return finishingCalls(calls.slice(0, place), tools).length === 0
}

/** Why the log did not take an outcome; undefined where that is not about this call. */
export function outcomeRefusal(error: unknown): ToolError | undefined {
  if (!(error instanceof LogError) || (error.code !== 'too-large' && error.code !== 'invalid')) return undefined
  if (error.message.startsWith('chunk state-patch:')) {
    return new ToolError('the change of the state is larger than the log takes', {
      code: 'tool_state_refused',
      cause: error,
    })
  }
  return new ToolError('the output is larger than the log takes: return less, or a link', {
    code: 'tool_output_too_large',
    cause: error,
  })
}
