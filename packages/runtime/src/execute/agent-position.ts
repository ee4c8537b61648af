// The position of an agent, computed from its message alone, so that every driver continues at the same point.

import type { Message, ToolPart } from '@millrace/protocol'
import type { Callable } from '../define/tool.ts'
import type { AgentExecution } from './program-execution.ts'

export interface AgentPosition {
  /** Number of steps whose model call was committed. */
  readonly steps: number
  /** Calls of the last step without an outcome: they have to run, or wait for an answer. */
  readonly open: readonly ToolPart[]
  /** All calls of the last step that the provider does not execute. */
  readonly calls: readonly ToolPart[]
}

/** The position of the agent of a message. */
export function positionOf(message: Message | undefined): AgentPosition {
  const parts = message?.parts ?? []
  const steps = parts.filter(({ type }) => type === 'step-start').length
  const last = parts.findLastIndex(({ type }) => type === 'step-start')
  const calls = parts
    .slice(last + 1)
    .filter((part): part is ToolPart => 'toolCallId' in part && part.executor !== 'provider')
  return { steps, calls, open: calls.filter(isOpen) }
}

/** The position of an agent after everything that its run has appended. */
export async function currentPosition(work: AgentExecution): Promise<AgentPosition> {
  await work.session.current()
  return positionOf(work.message())
}

/** Whether a call has complete input and no outcome. */
function isOpen({ state }: ToolPart): boolean {
  return state !== 'input-streaming' && !state.startsWith('output-')
}

/** Successful calls of finishing tools. */
export const finishingCalls = (calls: readonly ToolPart[], tools: ReadonlyMap<string, Callable>): readonly ToolPart[] =>
  calls.filter(({ state, toolName }) => {
    const tool = tools.get(toolName)
    return state === 'output-available' && tool?.executor === 'server' && tool.finish === true
  })
