// One call of a server's tool: progress as words on a lane of its own, the outcome as a commit of its own.

import { type Lane, LogError, type Said } from '@millrace/log'
import { applyPatch, type Chunk, type Json, type Operation, type ToolPart } from '@millrace/protocol'
import { checkpointOf, type Work } from '../agent/work.ts'
import { MillraceError, ToolError } from '../error/error.ts'
import { validate } from '../schema/schema.ts'
import { diff } from '../state/diff.ts'
import type { Execution, Tool, ToolContext } from './tool.ts'

type Update = (state: Json | undefined) => Json | undefined

/** What came of a call, before it is in the log. */
interface Outcome {
  readonly chunk: Chunk
  readonly output?: Json
  readonly updates: readonly Update[]
}

export interface CallSettings {
  readonly work: Work
  readonly step: number
  readonly call: ToolPart
  readonly tool: Tool | undefined
  /** Commits one at a time, so that each state is made of the one before. */
  readonly turn: <T>(commit: () => Promise<T>) => Promise<T>
  /** Whether no other call of the step is open. */
  readonly isLast: () => boolean
}

/** Runs a call and commits its outcome. What goes wrong in it is an outcome too; only the end of the run is thrown. */
export async function execute(settings: CallSettings): Promise<void> {
  const { work, step, call, turn } = settings
  const { writer } = work
  const main = work.lane(step)
  const lane = writer.lane({ ...main.origin, lane: `${main.origin.lane}/${call.toolCallId}` })
  // What others must not do meanwhile begins only while the lease surely lasts.
  await writer.sure()
  work.signal.throwIfAborted()
  const outcome = await outcomeOf(settings, lane)
  work.signal.throwIfAborted()
  await turn(() => commit(settings, lane, main, outcome))
}

async function commit(settings: CallSettings, lane: Lane, main: Lane, outcome: Outcome): Promise<void> {
  const { work, call } = settings
  try {
    const patches = await patchesOf(work, outcome.updates)
    await say(settings, lane, main, outcome, patches)
  } catch (error) {
    const refusal = refusalOf(error, outcome)
    if (refusal === undefined) throw error
    work.logger.warn('the outcome of a call was refused', {
      runId: work.runId,
      toolCallId: call.toolCallId,
      cause: error,
    })
    await say(settings, lane, main, failed(call, refusal), [])
  }
}

async function say(
  { tool, isLast }: CallSettings,
  lane: Lane,
  main: Lane,
  { chunk, output }: Outcome,
  patches: readonly Operation[],
): Promise<void> {
  const batch: (Chunk | Said)[] = [chunk]
  if (patches.length > 0) batch.push({ type: 'state-patch', patches: [...patches] })
  if (tool?.finish && output !== undefined) batch.push({ type: 'output', output })
  batch.push(checkpointOf(lane, false))
  // The last call of a step closes it, on the lane that made the calls.
  if (isLast()) batch.push({ chunk: checkpointOf(main, true), lane: main })
  await lane.commit(batch)
}

/** What the updates of a call make of the state as it is now. */
async function patchesOf({ session, agent, writer }: Work, updates: readonly Update[]): Promise<Operation[]> {
  if (updates.length === 0) return []
  await session.sync(writer.cursor.sequence)
  const before = session.state
  const after = updated(before, updates)
  if (agent.state) {
    const checked = await validate(agent.state, after)
    if ('problem' in checked) {
      throw new ToolError(`the state does not fit: ${checked.problem}`, { code: 'tool_state_refused' })
    }
  }
  const patches = diff(before ?? null, after ?? null)
  applyPatch(before ?? null, patches)
  return patches
}

function updated(state: Json | undefined, updates: readonly Update[]): Json | undefined {
  let now = structuredClone(state)
  for (const update of updates) {
    const next = update(now)
    if (next !== undefined) now = next
  }
  return now === undefined ? undefined : (JSON.parse(JSON.stringify(now)) as Json)
}

/** Why the log or the state's schema did not take an outcome; undefined where that is not about this call. */
function refusalOf(error: unknown, { updates }: Outcome): ToolError | undefined {
  if (error instanceof ToolError) return error
  if (!(error instanceof LogError) || (error.code !== 'too-large' && error.code !== 'invalid')) return undefined
  if (updates.length > 0 && /state-patch/.test(error.message)) {
    return new ToolError('the state is larger than the log takes', { code: 'tool_state_refused', cause: error })
  }
  return new ToolError('the output is larger than the log takes: return less, or a link', {
    code: 'tool_output_too_large',
    cause: error,
  })
}

async function outcomeOf({ work, step, call, tool }: CallSettings, lane: Lane): Promise<Outcome> {
  const { toolCallId, toolName } = call
  const updates: Update[] = []
  const controller = new AbortController()
  const abort = () => controller.abort(work.signal.reason)
  work.signal.addEventListener('abort', abort, { once: true })
  const timeout = new ToolError(`${toolName} took longer than ${tool?.timeout} ms`, { code: 'tool_timeout' })
  const cancel =
    tool?.timeout === undefined ? undefined : work.timers.after(tool.timeout, () => controller.abort(timeout))
  try {
    if (tool === undefined) throw new ToolError(`there is no tool ${toolName} any more`)
    const checked = await validate(tool.input, call.input)
    if ('problem' in checked) throw new ToolError(`the input does not fit: ${checked.problem}`)
    const context = toolContext(work, step, toolCallId, lane, controller.signal, updates)
    const running = resultOf(tool.execute(checked.value, context), lane, toolCallId)
    const output = await outputOf(tool, await unlessAborted(running, controller.signal))
    return { chunk: { type: 'tool-output-available', toolCallId, output }, output, updates }
  } catch (error) {
    work.signal.throwIfAborted()
    if (!MillraceError.isInstance(error)) {
      work.logger.error('a tool threw', { runId: work.runId, toolCallId, toolName, cause: error })
    }
    return failed(call, error)
  } finally {
    cancel?.()
    work.signal.removeEventListener('abort', abort)
  }
}

/** Only what was meant to be shown is: any other error may hold what nobody should see. */
function failed({ toolCallId, toolName }: ToolPart, error: unknown): Outcome {
  const known = MillraceError.isInstance(error) ? error : new ToolError(`${toolName} failed`)
  return { chunk: { type: 'tool-output-error', toolCallId, errorText: known.message, code: known.code }, updates: [] }
}

/** A tool that does not heed its signal is not waited for. */
function unlessAborted<T>(running: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    running.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** The output of an execution; what a generator yields before it is progress. */
async function resultOf(execution: Execution<unknown>, lane: Lane, toolCallId: string): Promise<unknown> {
  if (!isGenerator(execution)) return execution
  let last: unknown
  for (;;) {
    const { done, value } = await execution.next()
    if (done) return value === undefined ? last : value
    last = value
    await lane.write({ type: 'tool-output-available', toolCallId, output: jsonOf(value), preliminary: true })
  }
}

const isGenerator = (execution: unknown): execution is AsyncGenerator =>
  typeof (execution as AsyncGenerator | undefined)?.[Symbol.asyncIterator] === 'function' &&
  typeof (execution as AsyncGenerator).next === 'function'

async function outputOf({ name, output }: Tool, value: unknown): Promise<Json> {
  if (output === undefined) return jsonOf(value)
  const checked = await validate(output, value)
  if (!('problem' in checked)) return jsonOf(checked.value)
  throw new ToolError(`what ${name} returned does not fit: ${checked.problem}`, { code: 'tool_output_invalid' })
}

/** A value as JSON has it; nothing is null. */
function jsonOf(value: unknown): Json {
  try {
    return value === undefined ? null : ((JSON.parse(JSON.stringify(value) ?? 'null') as Json) ?? null)
  } catch (error) {
    throw new ToolError('what was returned is no JSON', { code: 'tool_output_invalid', cause: error })
  }
}

function toolContext(
  { agent, session, runId, agentId, context }: Work,
  step: number,
  toolCallId: string,
  lane: Lane,
  abortSignal: AbortSignal,
  updates: Update[],
): ToolContext {
  return {
    sessionId: session.id,
    runId,
    agentId,
    agentType: agent.name,
    step,
    toolCallId,
    idempotencyKey: toolCallId,
    abortSignal,
    context,
    get state() {
      return updated(session.state, updates)
    },
    updateState(update) {
      updates.push(update)
    },
    emit(name, data, { id, transient } = {}) {
      abortSignal.throwIfAborted()
      lane.write({
        type: `data-${name}`,
        data: jsonOf(data),
        ...(id !== undefined && { id: `${toolCallId}/${id}` }),
        ...(transient && { transient }),
      })
    },
  }
}
