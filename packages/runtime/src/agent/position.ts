// Where an agent stands, told from its message alone: so whoever takes it over goes on at the same place.

import type { Message, ToolPart } from '@millrace/protocol'
import type { AnyTool } from '../tool/tool.ts'

export interface Position {
  /** The steps whose model call was committed. */
  readonly steps: number
  /** The calls of the last of them that have to run. */
  readonly open: readonly ToolPart[]
  /** All calls of the last of them that somebody else than the provider runs. */
  readonly calls: readonly ToolPart[]
  /** The output of a finishing tool, if one was called and did its work. */
  readonly finished?: ToolPart | undefined
}

/** Where the agent of a message stands. */
export function positionOf(message: Message | undefined, tools: ReadonlyMap<string, AnyTool>): Position {
  const parts = message?.parts ?? []
  const steps = parts.filter(({ type }) => type === 'step-start').length
  const last = parts.findLastIndex(({ type }) => type === 'step-start')
  const calls = parts
    .slice(last + 1)
    .filter((part): part is ToolPart => 'toolCallId' in part && part.executor !== 'provider')
  const open = calls.filter(({ state }) => state === 'input-available')
  const finished = calls.find(({ state, toolName }) => {
    const tool = tools.get(toolName)
    return state === 'output-available' && tool?.executor === 'server' && tool.finish === true
  })
  return { steps, open, calls, finished }
}
