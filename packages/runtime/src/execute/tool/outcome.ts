// Runs the code of a call with a timeout. Every error becomes an outcome for the model.

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
import { assertToolJsonSize, type CallContext, callContext, toolJson, writeOrFail } from './call-context.ts'

/** The outcome of a call before it is committed. */
export interface Outcome {
  readonly chunk: Chunk
  /** The output of a successful call. */
  readonly output?: Json
  /** State updates of a successful call. */
  readonly updates?: StateUpdates
}

/**
 * Limits of an error text, in characters and bytes: it fits the smallest entry, so such an outcome is never rejected.
 */
const MAX_ERROR_LENGTH = 1000
const MAX_ERROR_BYTES = 3000
const MAX_CODE_LENGTH = 64

/** Runs the code of a call. @throws only if the run ends meanwhile. */
export async function outcomeOf(
  work: AgentExecution,
  step: number,
  call: ToolPart,
  tool: Tool | undefined,
  lane: Lane,
): Promise<Outcome> {
  const { toolCallId, toolName } = call
  if (tool === undefined)
    return failedOutcome(work, call, new ToolError(`the tool ${toolName} does not exist any more`))
  const { signal, timers, writer } = work
  const { timeoutMs = Number.POSITIVE_INFINITY } = tool
  const controller = new AbortController()
  const abort = () => controller.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  const onTimeout = () =>
    controller.abort(new ToolError(`${toolName} took longer than ${timeoutMs} ms`, { code: 'tool_timeout' }))
  const cancel = Number.isFinite(timeoutMs) ? timers.after(timeoutMs, onTimeout) : undefined
  const context = callContext({ work, step, toolCallId, lane, abortSignal: controller.signal })
  try {
    const output = await unlessAborted(
      run(tool, call, { context, lane, timers, maxBytes: writer.maxValueBytes }),
      controller.signal,
    )
    return {
      chunk: { type: 'tool-output-available', toolCallId, output, executor: 'server' },
      output,
      updates: context.updates,
    }
  } catch (error) {
    signal.throwIfAborted()
    return failedOutcome(work, call, error)
  } finally {
    context.close()
    cancel?.()
    signal.removeEventListener('abort', abort)
  }
}

/** The outcome of a failed call. Only messages of typed errors are shown: other errors may contain secrets. */
export function failedOutcome(work: AgentExecution, { toolCallId, toolName }: ToolPart, error: unknown): Outcome {
  const { message, code, cause } = readError(error) ?? {
    ...errorFieldsOf(new ToolError(`${toolName} failed`)),
    cause: error,
  }
  if (cause !== undefined)
    work.logger.error('a tool call failed', { runId: work.runId, toolCallId, toolName, code, cause })
  return {
    chunk: { type: 'tool-output-error', toolCallId, errorText: truncateErrorText(message), code, executor: 'server' },
  }
}

interface ErrorFields {
  readonly message: string
  readonly code: ErrorCode
  readonly cause: unknown
}

const errorFieldsOf = ({ message, code, cause }: MillraceError): ErrorFields => ({ message, code, cause })

/** The fields of a typed error; undefined for any other, and for a malformed one. */
function readError(error: unknown): ErrorFields | undefined {
  if (!MillraceError.isInstance(error)) return undefined
  try {
    const fields = errorFieldsOf(error)
    const isText = typeof fields.message === 'string' && typeof fields.code === 'string'
    return isText && fields.code.length <= MAX_CODE_LENGTH ? fields : undefined
  } catch {
    return undefined
  }
}

function truncateErrorText(text: string): string {
  const start = text.slice(0, MAX_ERROR_LENGTH)
  const isWide = Buffer.byteLength(JSON.stringify(start)) > MAX_ERROR_BYTES
  const prefix = isWide ? start.slice(0, MAX_ERROR_LENGTH / 2) : start
  return prefix === text ? text : `${prefix.toWellFormed()}…`
}

interface CallEnvironment {
  readonly context: CallContext
  readonly lane: Lane
  readonly timers: Timers
  /** Upper limit of the size of a value, in bytes. */
  readonly maxBytes: number
}

async function run(tool: Tool, call: ToolPart, environment: CallEnvironment): Promise<Json> {
  const { context, maxBytes } = environment
  const { name, inputSchema, outputSchema } = tool
  // Schemas may return their argument and code may change it, so they get a copy.
  const parsed = await validate(inputSchema, deepCopy(call.input))
  if ('problem' in parsed)
    throw new ToolError(`the input does not match its schema: ${parsed.problem}`, { cause: parsed.cause })
  const value = await finalOutputOf(tool.execute(parsed.value, context.context), call, environment)
  const label = `the result of ${name}`
  if (outputSchema === undefined) return toolJson(value, label, maxBytes)
  // Before the schema reads all of it.
  assertToolJsonSize(value, label, maxBytes)
  const checked = await validate(outputSchema, value)
  if (!('problem' in checked)) return toolJson(checked.value, label, maxBytes)
  throw new ToolError(`${label} does not match its schema: ${checked.problem}`, {
    code: 'tool_output_invalid',
    cause: checked.cause,
  })
}

/** The output of an execution. Values that a generator yields before are progress. */
async function finalOutputOf(
  execution: unknown,
  { toolCallId, toolName }: ToolPart,
  { context, lane, timers, maxBytes }: CallEnvironment,
): Promise<unknown> {
  if (!isGenerator(execution)) return execution
  let last: unknown
  for (;;) {
    const { done, value } = await execution.next()
    if (done) return value === undefined ? last : value
    if (!context.isOpen()) return execution.return(undefined)
    last = value
    try {
      const output = toolJson(value, `the progress of ${toolName}`, maxBytes)
      await writeOrFail(`the progress of ${toolName}`, () =>
        lane.write({ type: 'tool-output-available', toolCallId, output, preliminary: true, executor: 'server' }),
      )
    } catch (error) {
      closeGenerator(execution)
      throw error
    }
    await yieldToEventLoop(timers)
  }
}

/** Lets a generator run its `finally` blocks, without waiting for it. */
function closeGenerator(execution: AsyncGenerator): void {
  const closed = async () => execution.return(undefined)
  closed().catch(() => {})
}

const isGenerator = (execution: unknown): execution is AsyncGenerator =>
  typeof execution === 'object' &&
  execution !== null &&
  (Symbol.asyncIterator in execution || Symbol.iterator in execution) &&
  'next' in execution &&
  'return' in execution
