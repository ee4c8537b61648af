import type { Chunk, Json } from '@millrace/protocol'
import { supplementOf } from '../dialect/supplement.ts'
import type { ToolResultChunk } from '../dialect/tool-result.ts'
import { type AgUiEvent, withSupplement } from './event.ts'

/** What an event says only together with those before it. */
export interface EventContext {
  /** What the part is called to which the event belongs. */
  readonly id: string
  /** Of a call whose arguments are complete. */
  readonly toolName: string
  readonly input: Json
  /** What a call's result is, read. */
  readonly output: Json
  /** Of a sub-agent, from its start. */
  readonly agentType: string
  readonly toolCallId: string
}

/** The chunk that an event says by itself; undefined where it says none. Asks only for what it needs to know. */
export function chunkOf(event: AgUiEvent, known: EventContext): Chunk | undefined {
  switch (event.type) {
    case 'TEXT_MESSAGE_CONTENT':
      return { type: 'text-delta', id: known.id, delta: event.delta }
    case 'REASONING_MESSAGE_CONTENT':
      return { type: 'reasoning-delta', id: known.id, delta: event.delta }
    case 'TEXT_MESSAGE_START':
      return (event.role ?? 'assistant') === 'assistant' ? { type: 'text-start', id: known.id } : undefined
    case 'TEXT_MESSAGE_END':
      return { type: 'text-end', id: known.id }
    case 'REASONING_MESSAGE_START':
      return { type: 'reasoning-start', id: known.id }
    case 'REASONING_MESSAGE_END':
      return { type: 'reasoning-end', id: known.id }
    case 'TOOL_CALL_START':
      return { type: 'tool-input-start', toolCallId: event.toolCallId, toolName: event.toolCallName }
    case 'TOOL_CALL_ARGS':
      return { type: 'tool-input-delta', toolCallId: event.toolCallId, delta: event.delta }
    case 'TOOL_CALL_END': {
      const { toolName, input } = known
      return { type: 'tool-input-available', toolCallId: event.toolCallId, toolName, input }
    }
    case 'TOOL_CALL_RESULT':
      return { type: 'tool-output-available', toolCallId: event.toolCallId, output: known.output }
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
      const { agentType, toolCallId } = known
      const ended = { type: 'subagent-end', agentId, agentType, toolCallId, status: 'completed' } as const
      return result === undefined ? ended : { ...ended, result }
    }
    case 'SUBAGENT_ERROR': {
      const { subagentRunId: agentId, message: reason } = event
      const { agentType, toolCallId } = known
      return { type: 'subagent-end', agentId, agentType, toolCallId, status: 'failed', reason }
    }
    case 'RUN_STARTED':
      return { type: 'start' }
    case 'RUN_FINISHED':
      return { type: 'run-finished', status: event.outcome?.type === 'cancelled' ? 'interrupted' : 'completed' }
    case 'RUN_ERROR':
      return { type: 'run-finished', status: 'failed', reason: event.message }
    case 'RAW':
      // As many as a provider has events: they are there for who looks, and kept by nobody.
      return { type: 'data-raw', data: event.event ?? null, transient: true }
    case 'CUSTOM':
      return { type: `data-${event.name}`, data: event.value }
    default:
      return undefined
  }
}

/** A value as a call's arguments or result; text stays as it is. */
export const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** What a call's result says: an object or a list where it is the JSON of one, and else its text. */
export function outputOf(content: unknown): Json {
  if (typeof content !== 'string') return (content ?? null) as Json
  const first = content[0]
  return first === '{' || first === '[' ? jsonOf(content) : content
}

/** Whether a value comes out of `textOf` and `outputOf` as it was. */
export function isToldByText(value: Json): boolean {
  return typeof value === 'string' ? outputOf(value) === value : typeof value === 'object' && value !== null
}

/** What a JSON text says; the text itself where it is none. */
export function jsonOf(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** What becomes of a call that nobody has settled when the run ends. */
export const UNSETTLED = 'The run ended before this call did.'

/** What came of a call, in words. */
export function resultText(chunk: ToolResultChunk): string {
  if (chunk.type === 'tool-output-available') return textOf(chunk.output)
  if (chunk.type !== 'tool-output-denied') return chunk.errorText
  return chunk.reason === undefined ? 'The call was denied.' : `The call was denied: ${chunk.reason}`
}

/** An event that stands for a chunk, with what it does not say of it. */
export const annotated = (event: AgUiEvent, chunk: Chunk, known: Partial<EventContext> = {}): AgUiEvent =>
  withSupplement(event, supplementOf(chunk, chunkOf(event, known as EventContext)))

/** The same for the last of a run, beside which there is always something: what a run came to was said before by itself, and is not to be heard twice. */
export const annotatedEnd = (event: AgUiEvent, chunk: Chunk): AgUiEvent =>
  withSupplement(event, supplementOf(chunk, chunkOf(event, {} as EventContext)) ?? {})
