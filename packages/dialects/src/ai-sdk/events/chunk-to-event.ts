import type { Chunk, ChunkOf, JsonObject } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { defined } from '../../dialect/fields.ts'
import type { UIMessageChunk } from '../types.ts'
import { EXTENSION } from './extension.ts'

/** Encodes a chunk for the AI SDK, as far as it can express it. Undefined if there is no equivalent. */
export function chunkToEvent(chunk: Chunk): UIMessageChunk | undefined {
  switch (chunk.type) {
    case 'text-start':
    case 'text-delta':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-delta':
    case 'reasoning-end':
    case 'source-url':
      return withValidMetadata(chunk)
    case 'start': {
      const { type, metadata } = chunk
      return defined({ type, messageMetadata: metadata })
    }
    case 'finish': {
      const { type, finishReason, metadata } = chunk
      return defined({ type, finishReason, messageMetadata: metadata })
    }
    case 'abort':
      return chunk
    case 'message-metadata':
      return { type: chunk.type, messageMetadata: chunk.metadata }
    case 'step-start':
      return { type: 'start-step' }
    case 'tool-input-start': {
      const { executor, ...rest } = withValidMetadata(chunk)
      return { ...rest, ...providerExecutedOf(executor) }
    }
    case 'tool-input-delta':
      return { type: chunk.type, toolCallId: chunk.toolCallId, inputTextDelta: chunk.delta }
    case 'tool-input-available': {
      const { executor, deadline, ...rest } = withValidMetadata(chunk)
      return { ...rest, ...providerExecutedOf(executor) }
    }
    case 'tool-input-error': {
      const { type, toolCallId, toolName = '', errorText, partialInput = null } = chunk
      return { type, toolCallId, toolName, errorText, input: partialInput }
    }
    case 'tool-approval-request': {
      const { type, toolCallId, approvalId, isAutomatic } = chunk
      return defined({ type, toolCallId, approvalId, isAutomatic })
    }
    case 'tool-approval-response': {
      const { type, approvalId, approved, reason } = chunk
      return defined({ type, approvalId, approved, reason })
    }
    case 'tool-output-available': {
      const { executor, ...rest } = withValidMetadata(chunk)
      return { ...rest, ...providerExecutedOf(executor) }
    }
    case 'tool-output-error': {
      const { type, toolCallId, errorText, executor } = chunk
      return { type, toolCallId, errorText, ...providerExecutedOf(executor) }
    }
    case 'tool-output-denied':
      return { type: chunk.type, toolCallId: chunk.toolCallId }
    case 'source-document': {
      const { mediaType = 'text/plain', text, ...rest } = withValidMetadata(chunk)
      return { ...rest, mediaType, title: rest.title ?? rest.filename ?? '' }
    }
    case 'file': {
      const { type, url, mediaType, providerMetadata } = withValidMetadata(chunk)
      return defined({ type, url, mediaType, providerMetadata })
    }
    default:
      return chunk.type.startsWith('data-') && chunk.type !== EXTENSION ? (chunk as UIMessageChunk) : undefined
  }
}

/** Drops provider metadata that clients reject: each provider must have an object. */
export function withValidMetadata<T extends { readonly providerMetadata?: JsonObject }>(chunk: T): T {
  const { providerMetadata } = chunk
  if (providerMetadata === undefined || Object.values(providerMetadata).every(isObject)) return chunk
  const { providerMetadata: _, ...rest } = chunk
  return rest as T
}

const providerExecutedOf = (executor: ChunkOf<'tool-input-start'>['executor']) =>
  executor === 'provider' ? { providerExecuted: true } : {}
