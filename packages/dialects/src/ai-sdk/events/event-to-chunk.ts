import type { Chunk, Json, JsonObject } from '@millrace/protocol'
import { defined, finishReasonOf } from '../../dialect/fields.ts'
import type { UIMessageChunk } from '../types.ts'
import { EXTENSION } from './extension.ts'

/** Earlier chunks that a chunk refers to: the call ids by approval id, and the inputs by call id. */
export interface StreamContext {
  readonly approvals: ReadonlyMap<string, string>
  readonly inputs: ReadonlyMap<string, Json>
}

const executorOf = (isProvider: boolean | undefined) => (isProvider ? { executor: 'provider' as const } : {})

/** Decodes a chunk of the AI SDK without its supplement. Undefined if there is no equivalent. */
export function eventToChunk(event: UIMessageChunk, context: StreamContext): Chunk | undefined {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta': {
      const { type, id, delta, providerMetadata } = event
      return providerMetadata === undefined ? { type, id, delta } : { type, id, delta, providerMetadata }
    }
    case 'text-start':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-end': {
      const { type, id, providerMetadata } = event
      return defined({ type, id, providerMetadata }) as Chunk
    }
    case 'start':
      return defined({ type: event.type, metadata: event.messageMetadata as JsonObject | undefined }) as Chunk
    case 'finish': {
      const { type, finishReason: reason, messageMetadata: metadata } = event
      const finishReason = finishReasonOf(reason)
      return defined({ type, finishReason, metadata }) as Chunk
    }
    case 'abort':
      return defined({ type: event.type, reason: event.reason }) as Chunk
    case 'message-metadata':
      return { type: event.type, metadata: event.messageMetadata as JsonObject }
    case 'error':
      return { type: event.type, message: event.errorText }
    case 'start-step':
      return { type: 'step-start' }
    case 'tool-input-start': {
      const { type, toolCallId, toolName, providerExecuted, dynamic, title, providerMetadata } = event
      return {
        ...defined({ type, toolCallId, toolName, dynamic, title, providerMetadata }),
        ...executorOf(providerExecuted),
      } as Chunk
    }
    case 'tool-input-delta':
      return { type: event.type, toolCallId: event.toolCallId, delta: event.inputTextDelta }
    case 'tool-input-available': {
      const { type, toolCallId, toolName, input, providerExecuted, dynamic, title, providerMetadata } = event
      return {
        ...defined({ type, toolCallId, toolName, input: input as Json, dynamic, title, providerMetadata }),
        ...executorOf(providerExecuted),
      } as Chunk
    }
    case 'tool-input-error': {
      const { type, toolCallId, toolName, errorText, input } = event
      return defined({ type, toolCallId, toolName, errorText, partialInput: input as Json }) as Chunk
    }
    case 'tool-approval-request': {
      const { type, toolCallId, approvalId, isAutomatic } = event
      const input = context.inputs.get(toolCallId) ?? null
      return defined({ type, toolCallId, approvalId, input, isAutomatic }) as Chunk
    }
    case 'tool-approval-response': {
      const { type, approvalId, approved, reason } = event
      const toolCallId = context.approvals.get(approvalId)
      return toolCallId === undefined
        ? undefined
        : (defined({ type, toolCallId, approvalId, approved, reason }) as Chunk)
    }
    case 'tool-output-available': {
      const { type, toolCallId, output, preliminary, providerExecuted, providerMetadata } = event
      return {
        ...defined({ type, toolCallId, output: output as Json, preliminary, providerMetadata }),
        ...executorOf(providerExecuted),
      } as Chunk
    }
    case 'tool-output-error': {
      const { type, toolCallId, errorText, providerExecuted } = event
      return { type, toolCallId, errorText, ...executorOf(providerExecuted) }
    }
    case 'tool-output-denied':
      return { type: event.type, toolCallId: event.toolCallId }
    case 'source-url':
    case 'source-document': {
      const { millrace, millraceOrigin, ...rest } = event
      return defined(rest) as unknown as Chunk
    }
    case 'file':
    case 'reasoning-file': {
      const { url, mediaType, providerMetadata } = event
      return defined({ type: 'file', url, mediaType, providerMetadata }) as Chunk
    }
    case 'custom':
    case 'steering-message': {
      const { type, millrace, millraceOrigin, ...data } = event
      return { type: `data-${type}`, data: defined(data) as unknown as Json }
    }
    default:
      if (event.type === EXTENSION || !event.type.startsWith('data-')) return undefined
      return defined({ ...(event as object), millrace: undefined, millraceOrigin: undefined }) as unknown as Chunk
  }
}
