// What is told where nobody listens: nothing, at no cost.

import { ROOT_CONTEXT } from '@opentelemetry/api'
import type { AgentWork } from './agent-span.ts'
import type { ModelCall } from './model-span.ts'
import type { DriveWork } from './telemetry.ts'
import type { ToolCall } from './tool-span.ts'

const ignore = (): void => {}
const within = <T>(code: () => T): T => code()

const modelCall: ModelCall = { within, heard: ignore, end: ignore }
const toolCall: ToolCall = { context: ROOT_CONTEXT, within, executed: ignore, settle: ignore, halt: ignore }
const work: AgentWork = {
  within,
  modelCall: () => modelCall,
  toolCall: () => toolCall,
  agent: () => work,
  node: () => work,
  hook: () => work,
  end: ignore,
}

/** A drive of which nobody is told. */
export const unwatched: DriveWork = { work, decided: ignore, lose: ignore, end: ignore }
