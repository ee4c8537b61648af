// What a tool's code is given, for as long as its call lasts.

import { type Lane, LogError } from '@millrace/log'
import type { ToolContext } from '../../define/tool.ts'
import { ToolError } from '../../error/error.ts'
import { PROVIDER_CONTENT } from '../../model/model-answer.ts'
import { keyOf } from '../../session/key.ts'
import { StateUpdates } from '../../session/state-updates.ts'
import type { AgentExecution } from '../program-execution.ts'
import { toolJson } from './json.ts'

export interface CallContext {
  readonly context: ToolContext
  readonly updates: StateUpdates
  /** Whether the call goes on: after it has ended nothing is shown or changed in its name. */
  readonly isOpen: () => boolean
  close(): void
}

export interface CallPlace {
  readonly work: AgentExecution
  readonly step: number
  readonly toolCallId: string
  readonly lane: Lane
  readonly abortSignal: AbortSignal
}

/** The context of a call. */
export function callContext({ work, step, toolCallId, lane, abortSignal }: CallPlace): CallContext {
  const { agent, session, runId, agentId, context, logger } = work
  const updates = new StateUpdates(() => session.state)
  let isClosed = false
  const isOpen = () => !isClosed && !abortSignal.aborted
  /** Code that goes on after its call has ended is a mistake, but one that must not take the process down. */
  const mayGoOn = (what: string): boolean => {
    if (isOpen()) return true
    logger.warn(`${what} after the call had ended: it was ignored`, { runId, toolCallId })
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
      // Providers may number their calls: only with its session and run is one known from all others.
      idempotencyKey: keyOf(session.id, runId, toolCallId),
      abortSignal,
      context,
      get state() {
        return structuredClone(updates.state)
      },
      updateState(update) {
        if (mayGoOn('updateState')) updates.add(update)
      },
      emit(name, data, { id, transient } = {}) {
        if (!mayGoOn('emit')) return Promise.resolve()
        if (typeof name !== 'string' || name === '') throw new ToolError('emit: expected a name')
        const type: `data-${string}` = `data-${name}`
        // The model would be sent it as its own.
        if (type === PROVIDER_CONTENT) {
          throw new ToolError(`emit: ${name} is what content of providers is called: choose another name`)
        }
        const json = toolJson(data, type)
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

/** Shows something of a call; what the log does not take is the call's failure, not the run's. */
export function writeOrFail<T>(what: string, write: () => T): T {
  try {
    return write()
  } catch (error) {
    if (!(error instanceof LogError) || error.code !== 'too-large') throw error
    throw new ToolError(`${what} is larger than the log takes: show less, or a link`, {
      code: 'tool_output_too_large',
      cause: error,
    })
  }
}
