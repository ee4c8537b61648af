// An agent at work: a model call, the calls that it made, and again, until there is nothing left to do. Each time it looks where it stands, so that it does
// not matter who came here.

import type { BatchLike } from '@millrace/log'
import type { FinishReason } from '@millrace/protocol'
import { execute } from '../tool/execution.ts'
import type { AnyTool } from '../tool/tool.ts'
import { compute } from './agent.ts'
import { checkBudget } from './budget.ts'
import { checkTools } from './check.ts'
import { copyOf } from './copy.ts'
import { finishingCalls, type Position, positionOf } from './position.ts'
import { speak } from './step.ts'
import { checkpointId, checkpointOf, contextOf, type Work } from './work.ts'

/** How an agent's work ended here: it is done, or another process is to go on. */
export type Ended =
  | { readonly outcome: 'done'; readonly facts: BatchLike; readonly finishReason: FinishReason }
  | { readonly outcome: 'left' }

type Tools = ReadonlyMap<string, AnyTool>

/** Works until the agent is done. What is left to be said comes back, to be said with the end; throws why it cannot go on. */
export async function workOn(work: Work): Promise<Ended> {
  const { agent, session, writer, runId, agentId } = work
  let own: { readonly step: number; readonly tools: Tools } | undefined
  // The calls of a step belong to the tools that the model was told of in it, not to those of the next.
  const toolsAt = async (step: number): Promise<Tools> => {
    if (own?.step !== step) own = { step, tools: await toolsOf(work, step) }
    return own.tools
  }
  for (;;) {
    work.signal.throwIfAborted()
    await session.sync(writer.cursor.sequence)
    const position = positionOf(session.message(runId, agentId))
    const { open: waiting, steps } = position
    if (steps > 0) work.checkpointId = checkpointId(writer.main.origin, steps, waiting.length === 0)
    if (waiting.length > 0) {
      if (work.leaving.aborted) return { outcome: 'left' }
      await callAll(work, position, await toolsAt(steps))
      continue
    }
    const isDone = steps > 0 && (await isAtEnd(work, position, await toolsAt(steps)))
    if (isDone) return { outcome: 'done', facts: [], finishReason: 'tool-calls' }
    if (work.leaving.aborted) return { outcome: 'left' }
    checkBudget(agent.budget, steps, session.run(runId)?.usage ?? {})
    const step = steps + 1
    const spoken = await speak(work, step, await toolsAt(step))
    if (spoken === undefined) return { outcome: 'left' }
    const { facts, calls, open, finishReason, lane } = spoken
    const commit = [...facts, checkpointOf(lane, open === 0)]
    if (calls === 0) {
      work.checkpointId = checkpointId(lane.origin, step, true)
      return { outcome: 'done', facts: commit.map(chunk => ({ chunk, lane })), finishReason }
    }
    // What was asked for is asked for by a commit: whoever runs it can be sure that it was.
    await lane.commit(commit)
  }
}

async function toolsOf(work: Work, step: number): Promise<Tools> {
  const { agent } = work
  const tools = await compute(agent.tools, contextOf(work, step))
  checkTools(agent.name, tools)
  return new Map(tools.map(tool => [tool.name, tool]))
}

/** Whether an agent that has no calls to run has nothing to say either. */
async function isAtEnd(work: Work, { steps, calls }: Position, tools: Tools): Promise<boolean> {
  if (finishingCalls(calls, tools).length > 0) return true
  const { agent, session, runId, agentId } = work
  const message = session.message(runId, agentId)
  if (!agent.stopWhen || !message) return false
  const toolNames = calls.map(({ toolName }) => toolName)
  return agent.stopWhen({ ...contextOf(work, steps), message: copyOf(message), toolNames })
}

/** Runs the open calls of a step, some at a time; each commits its own outcome, the last of them closes the step. */
async function callAll(work: Work, { steps, open }: Position, tools: Tools): Promise<void> {
  const waiting = [...open]
  let left = open.length
  let last: Promise<unknown> = Promise.resolve()
  const turn = <T>(commit: () => Promise<T>): Promise<T> => {
    const done = last.then(commit)
    last = done.then(() => left--).catch(() => {})
    return done
  }
  const callNext = async (): Promise<void> => {
    for (let call = waiting.shift(); call && !work.leaving.aborted; call = waiting.shift()) {
      await execute({ work, step: steps, call, tools, turn, isLast: () => left === 1 })
    }
  }
  // One that throws is the end of the run here: the others see it by the signal.
  await Promise.all(Array.from({ length: Math.min(work.agent.parallelCalls, open.length) }, callNext))
}
