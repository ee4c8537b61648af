// An agent at work: a model call, the calls that it made, and again, until there is nothing left to do. Each time it looks where it stands, so that it does
// not matter who came here.

import type { Chunk, FinishReason } from '@millrace/protocol'
import { execute } from '../tool/execution.ts'
import type { AnyTool } from '../tool/tool.ts'
import { checkTools, compute } from './agent.ts'
import { checkBudget } from './budget.ts'
import { type Position, positionOf } from './position.ts'
import { speak } from './step.ts'
import { checkpointId, checkpointOf, contextOf, type Work } from './work.ts'

/** How an agent's work ended here: it is done, or another process is to go on. */
export type Ended =
  | { readonly outcome: 'done'; readonly facts: readonly Chunk[]; readonly finishReason: FinishReason }
  | { readonly outcome: 'left' }

/** Works until the agent is done. What is left to be said comes back, to be said with the end; throws why it cannot go on. */
export async function workOn(work: Work): Promise<Ended> {
  const { agent, session, writer, runId, agentId } = work
  for (;;) {
    work.signal.throwIfAborted()
    await session.sync(writer.cursor.sequence)
    const tools = await toolsOf(work)
    const position = positionOf(session.message(runId, agentId), tools)
    const { open: waiting, steps } = position
    if (steps > 0) work.checkpointId = checkpointId(writer.main.origin, steps, waiting.length === 0)
    if (waiting.length > 0) {
      if (work.isLeaving()) return { outcome: 'left' }
      await callAll(work, position, tools)
      continue
    }
    if (await isDone(work, position)) return { outcome: 'done', facts: [], finishReason: 'tool-calls' }
    if (work.isLeaving()) return { outcome: 'left' }
    checkBudget(agent.budget, steps, session.run(runId)?.usage ?? {})
    const step = steps + 1
    const { facts, calls, open, finishReason, lane } = await speak(work, step, tools)
    if (calls === 0) work.checkpointId = checkpointId(lane.origin, step, true)
    if (calls === 0) return { outcome: 'done', facts: [...facts, checkpointOf(lane, true)], finishReason }
    // What was asked for is asked for by a commit: whoever runs it can be sure that it was.
    await lane.commit([...facts, checkpointOf(lane, open === 0)])
  }
}

async function toolsOf(work: Work): Promise<ReadonlyMap<string, AnyTool>> {
  const { agent, session, runId, agentId } = work
  const { steps } = positionOf(session.message(runId, agentId), new Map())
  const tools = await compute(agent.tools, contextOf(work, steps + 1))
  checkTools(agent.name, tools)
  return new Map(tools.map(tool => [tool.name, tool]))
}

/** Whether an agent that has no calls to run has nothing to say either. */
async function isDone(work: Work, { steps, calls, finished }: Position): Promise<boolean> {
  if (steps === 0) return false
  if (finished) return true
  const { agent, session, runId, agentId } = work
  const message = session.message(runId, agentId)
  if (!agent.stopWhen || !message) return false
  const toolNames = calls.map(({ toolName }) => toolName)
  return agent.stopWhen({ ...contextOf(work, steps), message, toolNames })
}

/** Runs the open calls of a step, some at a time; each commits its own outcome, the last of them closes the step. */
async function callAll(work: Work, { steps, open }: Position, tools: ReadonlyMap<string, AnyTool>): Promise<void> {
  const waiting = [...open]
  let left = open.length
  let last: Promise<unknown> = Promise.resolve()
  const turn = <T>(commit: () => Promise<T>): Promise<T> => {
    const done = last.then(commit)
    last = done.then(() => left--).catch(() => {})
    return done
  }
  const callNext = async (): Promise<void> => {
    for (let call = waiting.shift(); call && !work.isLeaving(); call = waiting.shift()) {
      const tool = tools.get(call.toolName)
      const own = tool?.executor === 'server' ? tool : undefined
      await execute({ work, step: steps, call, tool: own, turn, isLast: () => left === 1 })
    }
  }
  // One that throws is the end of the run here: the others see it by the signal.
  await Promise.all(Array.from({ length: Math.min(work.agent.parallelCalls, open.length) }, callNext))
}
