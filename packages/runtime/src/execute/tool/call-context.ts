// The context of a tool call.

import { type Lane, LogError } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import type { ToolContext } from '../../define/tool.ts'
import { ToolError } from '../../error/error.ts'
import { PROVIDER_CONTENT } from '../../model/model-answer.ts'
import { toJson } from '../../schema/json.ts'
import { assertJsonSize } from '../../session/assert-json-size.ts'
import { keyOf } from '../../session/key.ts'
import { StateUpdates } from '../../session/state-updates.ts'
import type { AgentExecution } from '../program-execution.ts'

export interface CallContext {
  readonly context: ToolContext
  readonly updates: StateUpdates
  /** Whether the call is running. After its end nothing is emitted or changed on its behalf. */
  readonly isOpen: () => boolean
  close(): void
}

export interface CallScope {
  readonly work: AgentExecution
  readonly step: number
  readonly toolCallId: string
  readonly lane: Lane
  readonly abortSignal: AbortSignal
}

/** The context of a call. */
export function callContext({ work, step, toolCallId, lane, abortSignal }: CallScope): CallContext {
  const { agent, session, writer, runId, agentId, context, logger } = work
  const updates = new StateUpdates(() => session.state, writer.maxValueBytes)
  let isClosed = false
  const isOpen = () => !isClosed && !abortSignal.aborted
  /** Code that continues after its call ended is a mistake, but must not crash the process. */
  const checkOpen = (action: string): boolean => {
    if (isOpen()) return true
    logger.warn(`${action} after the call ended: ignored`, { runId, toolCallId })
    return false
  }
  return {
    updates,
    isOpen,
    close() {
      isClosed = true
    },
    context: {
      sessionId: session.id,
      runId,
      agentId,
      agentType: agent.name,
      step,
      toolCallId,
      // Ids of calls may repeat, so the key contains session and run.
      idempotencyKey: keyOf(session.id, runId, toolCallId),
      abortSignal,
      context,
      get state() {
        return structuredClone(updates.state)
      },
      updateState(update) {
        if (checkOpen('updateState')) updates.add(update)
      },
      emit(name, data, { id, transient } = {}) {
        if (!checkOpen('emit')) return Promise.resolve()
        if (typeof name !== 'string' || name === '') throw new ToolError('emit: expected a name')
        const type: `data-${string}` = `data-${name}`
        // It would be sent to the model as its own content.
        if (type === PROVIDER_CONTENT) {
          throw new ToolError(`emit: ${name} is reserved for content of providers: choose another name`)
        }
        const json = toolJson(data, type, writer.maxValueBytes)
        return writeOrFail(type, () =>
          lane.write({
            type,
            data: json,
            ...(id !== undefined && { id: keyOf(toolCallId, id) }),
            ...(transient && { transient }),
          }),
        )
      },
    },
  }
}

/** Converts a value of a tool to JSON; undefined becomes null. @throws {ToolError} if it is not JSON or too large. */
export function toolJson(value: unknown, label: string, maxBytes: number): Json {
  if (value === undefined) return null
  assertToolJsonSize(value, label, maxBytes)
  return toJson(value, cause => {
    const found = cause === undefined ? `, but a ${typeof value}` : ''
    return new ToolError(`${label} is not JSON${found}`, { code: 'tool_output_invalid', cause })
  })
}

/** @throws {ToolError} if a value of a tool is surely too large for the log. */
export const assertToolJsonSize = (value: unknown, label: string, maxBytes: number): void =>
  writeOrFail(label, () => assertJsonSize(value, maxBytes, label))

/** Writes a chunk of a call. If the log rejects it, the call fails and not the run. */
export function writeOrFail<T>(label: string, write: () => T): T {
  try {
    return write()
  } catch (error) {
    if (!(error instanceof LogError) || error.code !== 'too-large') throw error
    throw new ToolError(`${label} exceeds the size limit of the log: send less, or a link`, {
      code: 'tool_output_too_large',
      cause: error,
    })
  }
}
