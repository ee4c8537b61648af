// What comes of a call: its code runs, in bounds of time and of what it may say. Whatever goes wrong in it is an outcome, of which the model is told.

import type { Lane, Timers } from '@millrace/log'
import type { Chunk, Json, ToolPart } from '@millrace/protocol'
import { unlessAborted } from '../../async/unless-aborted.ts'
import { yieldToEventLoop } from '../../async/yield-to-event-loop.ts'
import type { Tool } from '../../define/tool.ts'
import { MillraceError, ToolError } from '../../error/error.ts'
import type { ErrorCode } from '../../error/error-codes.ts'
import { deepCopy } from '../../schema/deep-copy.ts'
import { validate } from '../../schema/schema.ts'
import type { StateUpdates } from '../../session/state-updates.ts'
import type { AgentExecution } from '../program-execution.ts'
import { type CallContext, callContext, writeOrFail } from './call-context.ts'
import { toolJson } from './json.ts'

/** What came of a call, before it is in the log. */
export interface Outcome {
  readonly chunk: Chunk
  /** What the call gave, if it did its work. */
  readonly output?: Json
  /** What it makes of the state; of a call that failed, nothing. */
  readonly updates?: StateUpdates
}

/** The longest text of an error that the model is told, and in what the smallest entry has room for: such an outcome is never refused. */
const LONGEST_ERROR = 1000
const LONGEST_ERROR_BYTES = 3000
const LONGEST_CODE = 64

/** Runs the code of a call; throws only where the run ends meanwhile. */
export async function outcomeOf(
  work: AgentExecution,
  step: number,
  call: ToolPart,
  tool: Tool | undefined,
  lane: Lane,
): Promise<Outcome> {
  const { toolCallId, toolName } = call
  if (tool === undefined) return failed(work, call, new ToolError(`there is no tool ${toolName} any more`))
  const { signal, timers } = work
  const { timeout = Number.POSITIVE_INFINITY } = tool
  const controller = new AbortController()
  const abort = () => controller.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  const late = () =>
    controller.abort(new ToolError(`${toolName} took longer than ${timeout} ms`, { code: 'tool_timeout' }))
  const cancel = Number.isFinite(timeout) ? timers.after(timeout, late) : undefined
  const own = callContext({ work, step, toolCallId, lane, abortSignal: controller.signal })
  try {
    const output = await unlessAborted(run(tool, call, own, lane, timers), controller.signal)
    return {
      chunk: { type: 'tool-output-available', toolCallId, output, executor: 'server' },
      output,
      updates: own.updates,
    }
  } catch (error) {
    signal.throwIfAborted()
    return failed(work, call, error)
  } finally {
    own.close()
    cancel?.()
    signal.removeEventListener('abort', abort)
  }
}

/** The outcome of a call that failed. Only what was meant to be shown is: any other error may hold what nobody should see. */
export function failed(work: AgentExecution, { toolCallId, toolName }: ToolPart, error: unknown): Outcome {
  const { message, code, cause } = read(error) ?? { ...wordsOf(new ToolError(`${toolName} failed`)), cause: error }
  if (cause !== undefined) work.logger.error('a call failed', { runId: work.runId, toolCallId, toolName, code, cause })
  return { chunk: { type: 'tool-output-error', toolCallId, errorText: shortened(message), code, executor: 'server' } }
}

interface Words {
  readonly message: string
  readonly code: ErrorCode
  readonly cause: unknown
}

const wordsOf = ({ message, code, cause }: MillraceError): Words => ({ message, code, cause })

/** What an error of ours says; undefined of any other, and of one that only looks like ours. */
function read(error: unknown): Words | undefined {
  if (!MillraceError.isInstance(error)) return undefined
  try {
    const words = wordsOf(error)
    const isText = typeof words.message === 'string' && typeof words.code === 'string'
    return isText && words.code.length <= LONGEST_CODE ? words : undefined
  } catch {
    return undefined
  }
}

function shortened(text: string): string {
  const start = text.slice(0, LONGEST_ERROR)
  const isWide = Buffer.byteLength(JSON.stringify(start)) > LONGEST_ERROR_BYTES
  const kept = isWide ? start.slice(0, LONGEST_ERROR / 2) : start
  return kept === text ? text : `${kept.toWellFormed()}…`
}

async function run(tool: Tool, call: ToolPart, own: CallContext, lane: Lane, timers: Timers): Promise<Json> {
  const { name, inputSchema: input, outputSchema: output } = tool
  // Schemas may give what they are given, and code may write into it: the model is told what it said.
  const taken = await validate(input, deepCopy(call.input))
  if ('problem' in taken) throw new ToolError(`the input does not fit: ${taken.problem}`, { cause: taken.cause })
  const value = await lastOf(tool.execute(taken.value, own.context), call, own, lane, timers)
  const what = `what ${name} returned`
  if (output === undefined) return toolJson(value, what)
  const checked = await validate(output, value)
  if (!('problem' in checked)) return toolJson(checked.value, what)
  throw new ToolError(`${what} does not fit: ${checked.problem}`, { code: 'tool_output_invalid', cause: checked.cause })
}

/** The output of an execution; what a generator yields before it is progress. */
async function lastOf(
  execution: unknown,
  { toolCallId, toolName }: ToolPart,
  own: CallContext,
  lane: Lane,
  timers: Timers,
): Promise<unknown> {
  if (!isGenerator(execution)) return execution
  let last: unknown
  for (;;) {
    const { done, value } = await execution.next()
    if (done) return value === undefined ? last : value
    if (!own.isOpen()) return execution.return(undefined)
    last = value
    try {
      const output = toolJson(value, `what ${toolName} yielded`)
      await writeOrFail(`what ${toolName} yielded`, () =>
        lane.write({ type: 'tool-output-available', toolCallId, output, preliminary: true, executor: 'server' }),
      )
    } catch (error) {
      leave(execution)
      throw error
    }
    await yieldToEventLoop(timers)
  }
}

/** Lets a generator put its things in order. Nobody waits for it: it may take for ever, and what it says is of no interest. */
function leave(execution: AsyncGenerator): void {
  const left = async () => execution.return(undefined)
  left().catch(() => {})
}

const isGenerator = (execution: unknown): execution is AsyncGenerator =>
  typeof execution === 'object' &&
  execution !== null &&
  (Symbol.asyncIterator in execution || Symbol.iterator in execution) &&
  'next' in execution &&
  'return' in execution
