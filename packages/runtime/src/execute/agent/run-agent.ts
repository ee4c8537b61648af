// The agent loop: a model call, its tool calls, and again until the agent is done. Each iteration starts from the
// position in the log, so any driver can continue it.

import type { ToolPart } from '@millrace/protocol'
import { callablesOf } from '../../define/agent.ts'
import type { Callable } from '../../define/tool.ts'
import { deepCopy } from '../../schema/deep-copy.ts'
import { type AgentPosition, currentPosition, finishingCalls } from '../agent-position.ts'
import type { ExecutionResult } from '../executor.ts'
import { type AgentExecution, checkpointId, checkpointOf, contextOf } from '../program-execution.ts'
import { modelCallCommit } from '../tool/approval-requests.ts'
import { appendUnlessStopped } from '../tool/call-commit.ts'
import { checkBudgets } from './budgets.ts'
import { callModel } from './call-model.ts'
import { runCalls } from './run-calls.ts'

type Tools = ReadonlyMap<string, Callable>

/**
 * Runs an agent until it is done or cannot continue here. Returns the committed chunks of its last step, to be committed
 * with the end.
 *
 * @throws if it fails.
 */
export async function runAgent(work: AgentExecution): Promise<ExecutionResult> {
  const { agent } = work
  let lastStep: { readonly step: number; readonly tools: Tools } | undefined
  // The calls of a step use the tools of that step, not those of the next.
  const toolsAt = async (step: number): Promise<Tools> => {
    if (lastStep?.step !== step) lastStep = { step, tools: await callablesOf(agent, contextOf(work, step)) }
    return lastStep.tools
  }
  for (;;) {
    work.signal.throwIfAborted()
    const position = await currentPosition(work)
    const { open, steps } = position
    if (steps > 0) work.checkpointId = checkpointId(work.lane(steps).origin, steps, open.length === 0)
    if (open.length > 0) {
      const halt = await runCalls(work, steps, await toolsAt(steps))
      if (halt) return halt
      continue
    }
    if (steps > 0) {
      await closeStep(work, position)
      const ended = await endOf(work, position, await toolsAt(steps))
      if (ended) return ended
    }
    if (work.handover.aborted) return { outcome: 'handed-over' }
    await checkBudgets(work, steps)
    const step = steps + 1
    const modelCall = await callModel(work, step, await toolsAt(step))
    if (modelCall === undefined) return { outcome: 'handed-over' }
    const extraItems = work.onModelCall?.(modelCall)
    const { committedChunks, calls, requestedCalls, finishReason, lane, output, text, line } = modelCall
    if (calls === 0) {
      work.checkpointId = checkpointId(lane.origin, step, true)
      const finalItems = [...committedChunks, checkpointOf(lane, true)].map(chunk => ({ chunk, lane }))
      const optional = { ...(output !== undefined && { output }), ...(line !== undefined && { line }) }
      return { outcome: 'done', finalItems, finishReason, steps: step, text, ...optional }
    }
    // Calls run only after they were committed.
    const build = await modelCallCommit(work, lane, committedChunks, requestedCalls, extraItems)
    work.signal.throwIfAborted()
    if (typeof build === 'function') await appendUnlessStopped(work, build)
    else await lane.commit(build)
    work.onCommitted?.()
  }
}

/** Closes a step whose last outcome a client wrote. In all other cases the commit of the last outcome closes it. */
async function closeStep(work: AgentExecution, { steps, calls }: AgentPosition): Promise<void> {
  if (!calls.some(({ executor }) => executor === 'client')) return
  const lane = work.lane(steps)
  const { origin } = lane
  const { session, runId, agentId } = work
  const last = await session.lastCheckpoint(runId, origin.lane, agentId)
  if (last?.checkpointId === checkpointId(origin, origin.step, true)) return
  await lane.commit([checkpointOf(lane, true)])
}

/** The result of an agent that ends without another model call; undefined if it continues. */
async function endOf(
  work: AgentExecution,
  position: AgentPosition,
  tools: Tools,
): Promise<ExecutionResult | undefined> {
  const { steps, calls } = position
  const [finishing] = finishingCalls(calls, tools)
  if (finishing === undefined && !(await isStopped(work, position))) return undefined
  const agentMessage = work.message()
  const message = agentMessage && (await work.session.withLargeValues(agentMessage))
  const lastStep = message?.parts.slice(message.parts.findLastIndex(({ type }) => type === 'step-start') + 1) ?? []
  const output = lastStep.find(
    (part): part is ToolPart => 'toolCallId' in part && part.toolCallId === finishing?.toolCallId,
  )?.output
  const text = lastStep.map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')
  const fields = { finalItems: [], finishReason: 'tool-calls', steps, text } as const
  return { outcome: 'done', ...fields, ...(output !== undefined && { output }) }
}

async function isStopped(work: AgentExecution, { steps, calls }: AgentPosition): Promise<boolean> {
  const { agent } = work
  const message = work.message()
  if (!agent.stopWhen || !message) return false
  const toolNames = calls.map(({ toolName }) => toolName)
  return agent.stopWhen({ ...contextOf(work, steps), message: deepCopy(message), toolNames })
}
