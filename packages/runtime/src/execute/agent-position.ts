// Where an agent stands, told from its message alone: so whoever takes it over goes on at the same place.

import type { Message, ToolPart } from '@millrace/protocol'
import type { Callable } from '../define/tool.ts'

export interface AgentPosition {
  /** The steps whose model call was committed. */
  readonly steps: number
  /** The calls of the last of them that have no outcome yet: they have to run, or wait for somebody. */
  readonly open: readonly ToolPart[]
  /** All calls of the last of them that somebody else than the provider runs. */
  readonly calls: readonly ToolPart[]
}

/** Where the agent of a message stands. */
export function positionOf(message: Message | undefined): AgentPosition {
  const parts = message?.parts ?? []
  const steps = parts.filter(({ type }) => type === 'step-start').length
  const last = parts.findLastIndex(({ type }) => type === 'step-start')
  const calls = parts
    .slice(last + 1)
    .filter((part): part is ToolPart => 'toolCallId' in part && part.executor !== 'provider')
  return { steps, calls, open: calls.filter(isOpen) }
}

/** Whether a call that was made has no outcome yet. */
function isOpen({ state }: ToolPart): boolean {
  return state !== 'input-streaming' && !state.startsWith('output-')
}

/** The calls of finishing tools that have done their work. */
export const finishingCalls = (calls: readonly ToolPart[], tools: ReadonlyMap<string, Callable>): readonly ToolPart[] =>
  calls.filter(({ state, toolName }) => {
    const tool = tools.get(toolName)
    return state === 'output-available' && tool?.executor === 'server' && tool.finish === true
  })
