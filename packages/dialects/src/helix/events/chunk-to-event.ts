import type { Chunk, ChunkOf, Json, JsonObject, PendingRef, Usage } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { defined } from '../../dialect/fields.ts'
import type { BaseChunk, ErrorChunk, JSONPatchOperation, RunPausedChunk, StepEndChunk, StreamChunk } from '../types.ts'
import { EXTENSION } from './event-to-chunk.ts'

/** The error code of a denied call. */
const DENIED = 'tool_denied'

/** Values from earlier chunks that a Helix chunk needs. */
export interface ChunkContext {
  readonly base: BaseChunk
  readonly runId: string
  readonly stepId: string
  /** The call of a chunk. */
  readonly call?: { readonly toolName: string; readonly executor?: string | undefined } | undefined
}

/**
 * Encodes a chunk, as far as Helix can express it. Undefined if there is no equivalent. Deltas are sent as they come, and the caller sends the complete
 * block at its end.
 */
export function chunkToEvent(chunk: Chunk, { base, runId, stepId, call }: ChunkContext): StreamChunk | undefined {
  switch (chunk.type) {
    case 'text-delta':
      return { type: 'text_delta', delta: chunk.delta, ...base }
    case 'reasoning-delta':
      return { type: 'thinking', content: chunk.delta, isComplete: false, ...base }
    case 'tool-input-start':
      return { type: 'tool_arg_stream_start', toolCallId: chunk.toolCallId, toolName: chunk.toolName, ...base }
    case 'tool-input-delta':
      return { type: 'tool_arg_stream_delta', toolCallId: chunk.toolCallId, delta: chunk.delta, ...base }
    case 'tool-input-available': {
      const { toolCallId, toolName, input } = chunk
      return { type: 'tool_start', toolCallId, toolName, arguments: argumentsOf(input), ...base }
    }
    case 'tool-input-error': {
      const { toolCallId, toolName = call?.toolName ?? '', errorText: error, partialInput } = chunk
      return { ...defined({ type: 'tool_input_error', toolCallId, toolName, error, partialInput }), ...base }
    }
    case 'tool-approval-request': {
      const { toolCallId, toolName = call?.toolName ?? '', approvalId, input, isAutomatic } = chunk
      return {
        ...defined({ type: 'tool_approval_request', toolCallId, toolName, approvalId, input, isAutomatic }),
        ...base,
      }
    }
    case 'tool-approval-response': {
      const { toolCallId, approvalId, approved, reason, isAutomatic } = chunk
      const toolName = call?.toolName ?? ''
      const response = { toolCallId, toolName, approvalId, approved, reason, isAutomatic }
      return { ...defined({ type: 'tool_approval_response', ...response }), ...base }
    }
    case 'tool-output-available':
    case 'tool-output-error':
    case 'tool-output-denied':
      return endOf(chunk, base, call)
    case 'subagent-start': {
      const { agentId: subSessionId, agentType: subAgentType, toolCallId: callId } = chunk
      return { type: 'subagent_start', subAgentType, subSessionId, callId, ...base }
    }
    case 'subagent-end': {
      const { agentId: subSessionId, agentType: subAgentType, toolCallId: callId, result = null } = chunk
      return { type: 'subagent_end', subAgentType, subSessionId, callId, result, ...base }
    }
    case 'state-patch':
      return { type: 'state_patch', patches: chunk.patches as readonly JSONPatchOperation[], ...base }
    case 'state-snapshot':
      return { type: 'state_patch', patches: [{ op: 'replace', path: '', value: chunk.state }], ...base }
    case 'error':
      return { ...errorOf(chunk), ...base }
    case 'output':
      return { type: 'output', output: chunk.output, ...base }
    case 'source-url': {
      const { sourceId, url, title } = chunk
      return { ...defined({ type: 'source_url', sourceId, url, title }), ...base }
    }
    case 'source-document': {
      const { sourceId, mediaType = 'text/plain', title = '', filename } = chunk
      return { ...defined({ type: 'source_document', sourceId, mediaType, title, filename }), ...base }
    }
    case 'step-start':
      return { ...defined({ type: 'step_start', stepId: chunk.stepId }), ...base }
    case 'step-finish': {
      const { stepId: id, usage, finishReason } = chunk
      return {
        ...defined({ type: 'step_end', stepId: id, usage: usage && usageOf(usage), finishReason }),
        ...base,
      }
    }
    case 'file': {
      const { url, mediaType, filename } = chunk
      return { ...defined({ type: 'file', url, mediaType, filename }), ...base }
    }
    case 'run-finished': {
      if (chunk.status !== 'interrupted') return undefined
      const { checkpointId = null, reason } = chunk
      return { ...defined({ type: 'run_interrupted', runId, checkpointId, reason }), ...base }
    }
    case 'run-resumed': {
      const { mode, fromCheckpointId = null, fromStepCount = 0 } = chunk
      return { type: 'run_resumed', runId, fromCheckpointId, fromStepCount, mode: mode.replaceAll('-', '_'), ...base }
    }
    case 'run-paused':
      return { ...pausageOf(chunk.awaits, chunk.reason), runId, ...base }
    case 'executor-superseded':
      return { ...defined({ type: 'executor_superseded', reason: chunk.reason }), ...base }
    case 'checkpoint-created': {
      const { checkpointId, stepCount = base.step } = chunk
      return { type: 'checkpoint_created', runId, checkpointId, stepCount, ...base }
    }
    case 'step-discarded': {
      const { stepId: id = stepId, reason } = chunk
      return { type: 'step_discarded', runId, stepId: id, reason, ...base }
    }
    default: {
      if (!chunk.type.startsWith('data-') || chunk.type === `data-${EXTENSION}`) return undefined
      return { type: 'custom', eventName: chunk.type.slice('data-'.length), data: (chunk as Data).data, ...base }
    }
  }
}

type Data = Extract<Chunk, { type: `data-${string}` }>

/** Inputs of Helix are always objects. */
const argumentsOf = (input: Json): JsonObject => (isObject(input) ? input : { value: input })

/** The result of a call, successful or not. Preliminary outputs are not results. */
function endOf(
  chunk: ChunkOf<'tool-output-available'> | ChunkOf<'tool-output-error'> | ChunkOf<'tool-output-denied'>,
  base: BaseChunk,
  call: ChunkContext['call'],
): StreamChunk | undefined {
  const { type, toolCallId } = chunk
  const end = { type: 'tool_end', toolCallId, toolName: call?.toolName ?? '' } as const
  if (type === 'tool-output-denied') {
    const error = chunk.reason ?? 'The call was denied.'
    return { ...end, result: null, error, errorCode: DENIED, providerExecuted: true, ...base }
  }
  const providerExecuted = (chunk.executor ?? call?.executor) !== 'client'
  if (type === 'tool-output-available')
    return chunk.preliminary ? undefined : { ...end, result: chunk.output, providerExecuted, ...base }
  const { errorText: error, code: errorCode } = chunk
  return { ...end, ...defined({ result: null, error, errorCode, providerExecuted }), ...base }
}

function errorOf({
  message,
  code,
  category,
  retryable,
  recoverable = false,
}: ChunkOf<'error'>): Omit<ErrorChunk, keyof BaseChunk> {
  const hasMore = category !== undefined || retryable !== undefined
  const errorDetail = hasMore ? defined({ message, code, category, retryable }) : undefined
  return defined({ type: 'error', error: message, code, errorDetail, recoverable })
}

/** Helix requires token counts that providers may omit. */
function usageOf({ inputTokens = 0, outputTokens = 0, cachedTokens, cacheWriteTokens }: Usage): StepEndChunk['usage'] {
  return defined({ inputTokens, outputTokens, cachedTokens, cacheWriteTokens })
}

/** Helix has a single tool that a run waits for. */
function pausageOf(
  awaits: readonly PendingRef[],
  reason: string | undefined,
): Omit<RunPausedChunk, keyof BaseChunk | 'runId'> {
  const pendingCall = awaits.find(awaited => 'toolCallId' in awaited)
  const { toolName: pendingToolName, toolCallId: pendingToolCallId } = pendingCall ?? {}
  const kinds = [...new Set(awaits.map(({ kind }) => kind))].join(', ')
  const pauseReason = reason ?? `waiting for ${kinds || 'input'}`
  return defined({ type: 'run_paused', reason: pauseReason, pendingToolName, pendingToolCallId })
}
