import type { Chunk, Json, Operation, Usage } from '@millrace/protocol'
import { defined, finishReasonOf } from '../../dialect/fields.ts'
import type { StreamChunk, ToolEndChunk } from '../types.ts'

/** The name of custom events for chunks that Helix has no type for. `data` is `{ chunk }`. */
export const EXTENSION = 'millrace'

const MODES: ReadonlySet<unknown> = new Set(['continue', 'with-message', 'with-confirmation', 'from-checkpoint'])

/** Decodes a chunk of Helix without its supplement. Undefined if there is no equivalent. Text of Helix has no part id: the caller adds it. */
export function eventToChunk(chunk: StreamChunk): Chunk | undefined {
  switch (chunk.type) {
    case 'text_delta':
      return { type: 'text-delta', delta: chunk.delta } as Chunk
    case 'thinking':
      return (chunk.isComplete ? { type: 'reasoning-end' } : { type: 'reasoning-delta', delta: chunk.content }) as Chunk
    case 'tool_arg_stream_start':
      return { type: 'tool-input-start', toolCallId: chunk.toolCallId, toolName: chunk.toolName }
    case 'tool_arg_stream_delta':
      return { type: 'tool-input-delta', toolCallId: chunk.toolCallId, delta: chunk.delta }
    case 'tool_start': {
      const { toolCallId, toolName, arguments: input } = chunk
      return { type: 'tool-input-available', toolCallId, toolName, input: input as Json }
    }
    case 'tool_end':
      return outcomeOf(chunk)
    case 'tool_approval_request': {
      const { toolCallId, toolName, approvalId, input, isAutomatic } = chunk
      const request = { toolCallId, toolName, approvalId, input: (input ?? null) as Json, isAutomatic }
      return defined({ type: 'tool-approval-request', ...request }) as Chunk
    }
    case 'tool_approval_response': {
      const { toolCallId, approvalId, approved, reason, isAutomatic } = chunk
      return defined({ type: 'tool-approval-response', toolCallId, approvalId, approved, reason, isAutomatic }) as Chunk
    }
    case 'tool_input_error': {
      const { toolCallId, toolName, error: errorText, partialInput } = chunk
      return defined({ type: 'tool-input-error', toolCallId, toolName, errorText, partialInput }) as Chunk
    }
    case 'tool_output_error':
      return { type: 'tool-output-error', toolCallId: chunk.toolCallId, errorText: chunk.error }
    case 'subagent_start': {
      const { subSessionId: agentId, subAgentType: agentType, callId: toolCallId } = chunk
      return { type: 'subagent-start', agentId, agentType, toolCallId }
    }
    case 'subagent_end': {
      const { subSessionId: agentId, subAgentType: agentType, callId: toolCallId, result } = chunk
      return { type: 'subagent-end', agentId, agentType, toolCallId, status: 'completed', result: result as Json }
    }
    case 'custom':
      return chunk.eventName === EXTENSION
        ? undefined
        : { type: `data-${chunk.eventName}`, data: (chunk.data ?? null) as Json }
    case 'state_patch':
      return { type: 'state-patch', patches: chunk.patches as Operation[] }
    case 'error': {
      const { error, errorDetail, recoverable } = chunk
      const { code = errorDetail?.code } = chunk
      const { category, retryable } = errorDetail ?? {}
      return defined({ type: 'error', message: error, code, category, retryable, recoverable }) as Chunk
    }
    case 'output':
      return { type: 'output', output: (chunk.output ?? null) as Json }
    case 'source_url': {
      const { sourceId, url, title } = chunk
      return defined({ type: 'source-url', sourceId, url, title }) as Chunk
    }
    case 'source_document': {
      const { sourceId, mediaType, title, filename } = chunk
      return defined({ type: 'source-document', sourceId, mediaType, title, filename }) as Chunk
    }
    case 'step_start':
      return defined({ type: 'step-start', stepId: chunk.stepId }) as Chunk
    case 'step_end': {
      const { stepId, usage, finishReason: helixReason } = chunk
      const finishReason = finishReasonOf(helixReason)
      return defined({ type: 'step-finish', stepId, usage: usage as Usage | undefined, finishReason }) as Chunk
    }
    case 'file': {
      const { url, mediaType, filename } = chunk
      return defined({ type: 'file', url, mediaType, filename }) as Chunk
    }
    case 'run_interrupted': {
      const { checkpointId, reason } = chunk
      const ended = { status: 'interrupted', checkpointId: checkpointId ?? undefined, reason }
      return defined({ type: 'run-finished', ...ended }) as Chunk
    }
    case 'run_resumed': {
      const { fromCheckpointId, fromStepCount, mode: helixMode } = chunk
      const mode = typeof helixMode === 'string' ? helixMode.replaceAll('_', '-') : helixMode
      const resumed = { mode: MODES.has(mode) ? mode : 'continue', fromCheckpointId: fromCheckpointId ?? undefined }
      return defined({ type: 'run-resumed', ...resumed, fromStepCount }) as Chunk
    }
    case 'run_paused':
      return { type: 'run-paused', reason: chunk.reason, awaits: [] }
    case 'executor_superseded':
      return defined({ type: 'executor-superseded', reason: chunk.reason }) as Chunk
    case 'checkpoint_created':
      return { type: 'checkpoint-created', checkpointId: chunk.checkpointId, stepCount: chunk.stepCount }
    case 'step_discarded':
      return { type: 'step-discarded', stepId: chunk.stepId, reason: chunk.reason }
    default:
      return undefined
  }
}

/** The result of a call. Without `providerExecuted` a client ran it. */
function outcomeOf({ toolCallId, result, error, errorCode: code, providerExecuted }: ToolEndChunk): Chunk {
  const executor = providerExecuted ? 'server' : 'client'
  if (error === undefined)
    return { type: 'tool-output-available', toolCallId, output: (result ?? null) as Json, executor }
  return defined({ type: 'tool-output-error', toolCallId, errorText: error, code, executor }) as Chunk
}
