// An agent at work: a model call, the calls that it made, and again, until there is nothing left to do. Each time it looks where it stands, so that it does
// not matter who came here.

import type { ToolPart } from '@millrace/protocol'
import { callablesOf } from '../../define/agent.ts'
import type { Callable } from '../../define/tool.ts'
import { deepCopy } from '../../schema/deep-copy.ts'
import { type AgentPosition, finishingCalls, positionOf } from '../agent-position.ts'
import type { Ended } from '../executor.ts'
import { type AgentExecution, checkpointId, checkpointOf, contextOf } from '../program-execution.ts'
import { modelCallCommit } from '../tool/approval-requests.ts'
import { appendUnlessStopped } from '../tool/call-commit.ts'
import { callModel } from './call-model.ts'
import { checkBudgets } from './check-budgets.ts'
import { runCalls } from './run-calls.ts'

type Tools = ReadonlyMap<string, Callable>

/** Works until the agent is done, or cannot go on. What is left to be said comes back, to be said with the end; throws why it cannot be done. */
export async function runAgent(work: AgentExecution): Promise<Ended> {
  const { agent, session } = work
  let own: { readonly step: number; readonly tools: Tools } | undefined
  // The calls of a step belong to the tools that the model was told of in it, not to those of the next.
  const toolsAt = async (step: number): Promise<Tools> => {
    if (own?.step !== step) own = { step, tools: await callablesOf(agent, contextOf(work, step)) }
    return own.tools
  }
  for (;;) {
    work.signal.throwIfAborted()
    await session.refresh()
    const position = positionOf(work.message())
    const { open, steps } = position
    if (steps > 0) work.checkpointId = checkpointId(work.lane(steps).origin, steps, open.length === 0)
    if (open.length > 0) {
      const halt = await runCalls(work, steps, await toolsAt(steps))
      if (halt) return halt
      continue
    }
    if (steps > 0) {
      await close(work, position)
      const ended = await endOf(work, position, await toolsAt(steps))
      if (ended) return ended
    }
    if (work.handover.aborted) return { outcome: 'left' }
    await checkBudgets(work, steps)
    const step = steps + 1
    const spoken = await callModel(work, step, await toolsAt(step))
    if (spoken === undefined) return { outcome: 'left' }
    const besides = work.heard?.(spoken)
    const { facts, calls, made, finishReason, lane, output, text, line } = spoken
    if (calls === 0) {
      work.checkpointId = checkpointId(lane.origin, step, true)
      const said = [...facts, checkpointOf(lane, true)].map(chunk => ({ chunk, lane }))
      const given = { ...(output !== undefined && { output }), ...(line !== undefined && { line }) }
      return { outcome: 'done', facts: said, finishReason, steps: step, text, ...given }
    }
    // What was asked for is asked for by a commit: whoever runs it can be sure that it was.
    const build = await modelCallCommit(work, lane, facts, made, besides)
    work.signal.throwIfAborted()
    if (typeof build === 'function') await appendUnlessStopped(work, build)
    else await lane.commit(build)
    work.kept?.()
  }
}

/** Closes a step whose last outcome a client gave: all others are closed by the commit of theirs. */
async function close(work: AgentExecution, { steps, calls }: AgentPosition): Promise<void> {
  if (!calls.some(({ executor }) => executor === 'client')) return
  const lane = work.lane(steps)
  const { origin } = lane
  const { session, runId, agentId } = work
  if ((await session.lastCheckpoint(runId, origin.lane, agentId)) === checkpointId(origin, origin.step, true)) return
  await lane.commit([checkpointOf(lane, true)])
}

/** The end of an agent that has no calls to run and nothing to say either; undefined where it goes on. */
async function endOf(work: AgentExecution, position: AgentPosition, tools: Tools): Promise<Ended | undefined> {
  const { steps, calls } = position
  const [finishing] = finishingCalls(calls, tools)
  if (finishing === undefined && !(await isStopped(work, position))) return undefined
  const own = work.message()
  const message = own && (await work.session.withLargeValues(own))
  const last = message?.parts.slice(message.parts.findLastIndex(({ type }) => type === 'step-start') + 1) ?? []
  const output = last.find(
    (part): part is ToolPart => 'toolCallId' in part && part.toolCallId === finishing?.toolCallId,
  )?.output
  const text = last.map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')
  const said = { facts: [], finishReason: 'tool-calls', steps, text } as const
  return { outcome: 'done', ...said, ...(output !== undefined && { output }) }
}

async function isStopped(work: AgentExecution, { steps, calls }: AgentPosition): Promise<boolean> {
  const { agent } = work
  const message = work.message()
  if (!agent.stopWhen || !message) return false
  const toolNames = calls.map(({ toolName }) => toolName)
  return agent.stopWhen({ ...contextOf(work, steps), message: deepCopy(message), toolNames })
}
