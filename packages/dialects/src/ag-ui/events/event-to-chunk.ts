import type { Chunk, Json } from '@millrace/protocol'
import { jsonOrText } from '../../dialect/json-or-text.ts'
import { supplementOf } from '../../dialect/supplement.ts'
import type { ToolResultChunk } from '../../dialect/tool-result.ts'
import type { AgUiEvent } from '../types.ts'
import { withSupplement } from './extension.ts'

/** Values from earlier events that an event refers to. */
export interface EventContext {
  /** Id of the part of the event. */
  readonly id: string
  /** The call, once its arguments are complete. */
  readonly toolName: string
  readonly input: Json
  /** The parsed result of a call. */
  readonly output: Json
  /** The sub-agent, from its start event. */
  readonly agentType: string
  readonly toolCallId: string
}

/** Decodes an event without its supplement. Undefined if there is no equivalent. Reads only the fields of `context` that the event needs. */
export function eventToChunk(event: AgUiEvent, context: EventContext): Chunk | undefined {
  switch (event.type) {
    case 'TEXT_MESSAGE_CONTENT':
      return { type: 'text-delta', id: context.id, delta: event.delta }
    case 'REASONING_MESSAGE_CONTENT':
      return { type: 'reasoning-delta', id: context.id, delta: event.delta }
    case 'TEXT_MESSAGE_START':
      return (event.role ?? 'assistant') === 'assistant' ? { type: 'text-start', id: context.id } : undefined
    case 'TEXT_MESSAGE_END':
      return { type: 'text-end', id: context.id }
    case 'REASONING_MESSAGE_START':
      return { type: 'reasoning-start', id: context.id }
    case 'REASONING_MESSAGE_END':
      return { type: 'reasoning-end', id: context.id }
    case 'TOOL_CALL_START':
      return { type: 'tool-input-start', toolCallId: event.toolCallId, toolName: event.toolCallName }
    case 'TOOL_CALL_ARGS':
      return { type: 'tool-input-delta', toolCallId: event.toolCallId, delta: event.delta }
    case 'TOOL_CALL_END': {
      const { toolName, input } = context
      return { type: 'tool-input-available', toolCallId: event.toolCallId, toolName, input }
    }
    case 'TOOL_CALL_RESULT':
      return { type: 'tool-output-available', toolCallId: event.toolCallId, output: context.output }
    case 'STATE_SNAPSHOT':
      return { type: 'state-snapshot', state: event.snapshot }
    case 'STATE_DELTA':
      return { type: 'state-patch', patches: event.delta }
    case 'STEP_STARTED':
      return { type: 'step-start', stepId: event.stepName }
    case 'STEP_FINISHED':
      return { type: 'step-finish', stepId: event.stepName }
    case 'SUBAGENT_STARTED': {
      const { subagentRunId: agentId, name: agentType, parentToolCallId: toolCallId = '' } = event
      return { type: 'subagent-start', agentId, agentType, toolCallId }
    }
    case 'SUBAGENT_FINISHED': {
      if (event.outcome?.type === 'suspended') return undefined
      const { subagentRunId: agentId, result } = event
      const { agentType, toolCallId } = context
      const ended = { type: 'subagent-end', agentId, agentType, toolCallId, status: 'completed' } as const
      return result === undefined ? ended : { ...ended, result }
    }
    case 'SUBAGENT_ERROR': {
      const { subagentRunId: agentId, message: reason } = event
      const { agentType, toolCallId } = context
      return { type: 'subagent-end', agentId, agentType, toolCallId, status: 'failed', reason }
    }
    case 'RUN_STARTED':
      return { type: 'start' }
    case 'RUN_FINISHED':
      return { type: 'run-finished', status: event.outcome?.type === 'cancelled' ? 'interrupted' : 'completed' }
    case 'RUN_ERROR':
      return { type: 'run-finished', status: 'failed', reason: event.message }
    case 'RAW':
      // Transient: there can be as many as a provider has events.
      return { type: 'data-raw', data: event.event ?? null, transient: true }
    case 'CUSTOM':
      return { type: `data-${event.name}`, data: event.value }
    default:
      return undefined
  }
}

/** The text of an input or output. A string is its own text. */
export const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Parses a result: JSON of an object or an array, or plain text. */
export function outputOf(content: unknown): Json {
  if (typeof content !== 'string') return (content ?? null) as Json
  const first = content[0]
  return first === '{' || first === '[' ? jsonOrText(content) : content
}

/** The output that a decoder reads from the text of a value: the value itself if equal, so that no object is parsed. */
export const decodedOutput = (value: Json): Json =>
  typeof value === 'object' && value !== null ? value : outputOf(textOf(value))

/** Parses the arguments of a call. A call without arguments has an empty input. */
export const inputOf = (text: string): Json => (text === '' ? {} : jsonOrText(text))

/** The result of a call as text. */
export function resultText(chunk: ToolResultChunk): string {
  if (chunk.type === 'tool-output-available') return textOf(chunk.output)
  if (chunk.type !== 'tool-output-denied') return chunk.errorText
  return chunk.reason === undefined ? 'The call was denied.' : `The call was denied: ${chunk.reason}`
}

/** Adds to an event the supplement for its chunk. */
export const annotated = (event: AgUiEvent, chunk: Chunk, context: Partial<EventContext> = {}): AgUiEvent =>
  withSupplement(event, supplementOf(chunk, eventToChunk(event, context as EventContext)))

/** Like `annotated`, for the last event of a run. It always has a supplement, so that decoders do not emit the output a second time. */
export const annotatedEnd = (event: AgUiEvent, chunk: Chunk): AgUiEvent =>
  withSupplement(event, supplementOf(chunk, eventToChunk(event, {} as EventContext)) ?? {})
