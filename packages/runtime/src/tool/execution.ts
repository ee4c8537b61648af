// One call of a server's tool: progress as words on a lane of its own, the outcome as a commit of its own.

import { type Lane, LogError, type Said } from '@millrace/log'
import type { Chunk, Operation, ToolPart } from '@millrace/protocol'
import { finishingCalls, positionOf } from '../agent/position.ts'
import { checkpointOf, type Work } from '../agent/work.ts'
import { ToolError } from '../error/error.ts'
import { failed, type Outcome, outcomeOf } from './outcome.ts'
import type { AnyTool } from './tool.ts'

export interface CallSettings {
  readonly work: Work
  readonly step: number
  readonly call: ToolPart
  /** The tools of the step, by their names. */
  readonly tools: ReadonlyMap<string, AnyTool>
  /** Commits one at a time, so that each state is made of the one before. */
  readonly turn: <T>(commit: () => Promise<T>) => Promise<T>
  /** Whether no other call of the step is open. */
  readonly isLast: () => boolean
}

/** Runs a call and commits its outcome. What goes wrong in it is an outcome too; only the end of the run is thrown. */
export async function execute(settings: CallSettings): Promise<void> {
  const { work, step, call, tools, turn } = settings
  const { writer } = work
  const main = work.lane(step)
  const lane = writer.lane({ ...main.origin, lane: `${main.origin.lane}/${call.toolCallId}` })
  const tool = tools.get(call.toolName)
  // What others must not do meanwhile begins only while the lease surely lasts.
  await writer.sure()
  work.signal.throwIfAborted()
  const outcome = await outcomeOf(work, step, call, tool?.executor === 'server' ? tool : undefined, lane)
  work.signal.throwIfAborted()
  await turn(() => commit(settings, lane, main, outcome))
}

async function commit(settings: CallSettings, lane: Lane, main: Lane, outcome: Outcome): Promise<void> {
  const { work, call } = settings
  const { session, writer, agent } = work
  await session.sync(writer.cursor.sequence)
  let patches: readonly Operation[]
  try {
    patches = (await outcome.updates?.patches(agent.state)) ?? []
  } catch (error) {
    return say(settings, lane, main, failed(work, call, error), [])
  }
  try {
    await say(settings, lane, main, outcome, patches)
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal === undefined) throw error
    await say(settings, lane, main, failed(work, call, refusal), [])
  }
}

async function say(
  settings: CallSettings,
  lane: Lane,
  main: Lane,
  { chunk, output }: Outcome,
  patches: readonly Operation[],
): Promise<void> {
  const batch: (Chunk | Said)[] = [chunk]
  if (patches.length > 0) batch.push({ type: 'state-patch', patches: [...patches] })
  if (output !== undefined && isFinal(settings)) batch.push({ type: 'output', output })
  batch.push(checkpointOf(lane, false))
  // The last call of a step closes it, on the lane that made the calls.
  if (settings.isLast()) batch.push({ chunk: checkpointOf(main, true), lane: main })
  await lane.commit(batch)
}

/** Whether the output of a call is the run's: of several finishing calls the first that the model made, whichever is done first. */
function isFinal({ work: { session, runId, agentId }, call, tools }: CallSettings): boolean {
  const tool = tools.get(call.toolName)
  if (tool?.executor !== 'server' || !tool.finish) return false
  const { calls } = positionOf(session.message(runId, agentId))
  const place = calls.findIndex(({ toolCallId }) => toolCallId === call.toolCallId)
  return finishingCalls(calls.slice(0, place), tools).length === 0
}

/** Why the log did not take an outcome; undefined where that is not about this call. */
function refusalOf(error: unknown): ToolError | undefined {
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
