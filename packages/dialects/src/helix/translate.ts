// Converts between the chunks of Helix and ours. Both directions are here, so that each understands the other.

import type { Chunk, ChunkOf, Json, JsonObject, Operation, PendingRef, Usage } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { defined, finishReasonOf } from '../dialect/fields.ts'
import type {
  BaseChunk,
  ErrorChunk,
  JSONPatchOperation,
  RunPausedChunk,
  StepEndChunk,
  StreamChunk,
  ToolEndChunk,
} from './types.ts'

/** The name of custom events for chunks that Helix has no type for. `data` is `{ chunk }`. */
export const EXTENSION = 'millrace'

/** The error code of a denied call. */
const DENIED = 'tool_denied'

const MODES: ReadonlySet<unknown> = new Set(['continue', 'with-message', 'with-confirmation', 'from-checkpoint'])

/** Decodes a chunk of Helix without its supplement. Undefined if there is no equivalent. Text of Helix has no part id: the caller adds it. */
export function plainOf(chunk: StreamChunk): Chunk | undefined {
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

/** Values from other chunks that a Helix chunk needs. */
export interface About {
  readonly base: BaseChunk
  readonly runId: string
  readonly stepId: string
  /** The call of a chunk. */
  readonly call?: { readonly toolName: string; readonly executor?: string | undefined } | undefined
}

/**
 * Encodes a chunk, as far as Helix can express it. Undefined if there is no equivalent. Deltas are sent as they come, and the caller sends the whole
 * block at its end.
 */
export function helixOf(chunk: Chunk, { base, runId, stepId, call }: About): StreamChunk | undefined {
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
        ...defined({ type: 'step_end', stepId: id, usage: usage && usedOf(usage), finishReason }),
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
      return { ...pausedOf(chunk.awaits, chunk.reason), runId, ...base }
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
  call: About['call'],
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
function usedOf({ inputTokens = 0, outputTokens = 0, cachedTokens, cacheWriteTokens }: Usage): StepEndChunk['usage'] {
  return defined({ inputTokens, outputTokens, cachedTokens, cacheWriteTokens })
}

/** Helix has a single tool that a run waits for. */
function pausedOf(
  awaits: readonly PendingRef[],
  reason: string | undefined,
): Omit<RunPausedChunk, keyof BaseChunk | 'runId'> {
  const found = awaits.find(awaited => 'toolCallId' in awaited)
  const { toolName: pendingToolName, toolCallId: pendingToolCallId } = found ?? {}
  const kinds = [...new Set(awaits.map(({ kind }) => kind))].join(', ')
  const why = reason ?? `waiting for ${kinds || 'somebody'}`
  return defined({ type: 'run_paused', reason: why, pendingToolName, pendingToolCallId })
}
