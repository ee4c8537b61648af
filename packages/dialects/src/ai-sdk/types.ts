// The chunks of the UI message stream of the AI SDK (`ai` 7). Its schemas accept unknown fields: `millrace` holds the supplement of a chunk.

import type { Chunk, ChunkOf, Json, JsonObject } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { defined, finishReasonOf } from '../dialect/fields.ts'
import type { Supplement, WithGuestOrigin } from '../dialect/supplement.ts'
import { EXTENSION } from './extension.ts'

interface AiSdkSupplement extends WithGuestOrigin {
  /** The fields of our chunk that this one cannot express. */
  readonly millrace?: Supplement
}

interface WithMetadata {
  readonly providerMetadata?: JsonObject | undefined
}

interface BlockFields extends WithMetadata {
  readonly id: string
}

interface AiSdkCallFields extends WithMetadata {
  readonly toolCallId: string
  readonly providerExecuted?: boolean | undefined
  readonly dynamic?: boolean | undefined
}

interface NamedCall extends AiSdkCallFields {
  readonly toolName: string
  readonly title?: string | undefined
}

/** A chunk of a UI message stream. */
export type UIMessageChunk = AiSdkSupplement &
  (
    | { readonly type: 'start'; readonly messageId?: string | undefined; readonly messageMetadata?: unknown }
    | { readonly type: 'finish'; readonly finishReason?: string | undefined; readonly messageMetadata?: unknown }
    | { readonly type: 'abort'; readonly reason?: string | undefined }
    | { readonly type: 'message-metadata'; readonly messageMetadata: unknown }
    | { readonly type: 'error'; readonly errorText: string }
    | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
    | (BlockFields & { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end' })
    | (BlockFields & { readonly type: 'text-delta' | 'reasoning-delta'; readonly delta: string })
    | (NamedCall & { readonly type: 'tool-input-start' })
    | { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
    | (NamedCall & { readonly type: 'tool-input-available'; readonly input: unknown })
    | (NamedCall & { readonly type: 'tool-input-error'; readonly input: unknown; readonly errorText: string })
    | {
        readonly type: 'tool-approval-request'
        readonly approvalId: string
        readonly toolCallId: string
        readonly isAutomatic?: boolean | undefined
      }
    | {
        readonly type: 'tool-approval-response'
        readonly approvalId: string
        readonly approved: boolean
        readonly reason?: string | undefined
      }
    | (AiSdkCallFields & {
        readonly type: 'tool-output-available'
        readonly output: unknown
        readonly preliminary?: boolean | undefined
      })
    | (AiSdkCallFields & { readonly type: 'tool-output-error'; readonly errorText: string })
    | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
    | (WithMetadata & {
        readonly type: 'source-url'
        readonly sourceId: string
        readonly url: string
        readonly title?: string | undefined
      })
    | (WithMetadata & {
        readonly type: 'source-document'
        readonly sourceId: string
        readonly mediaType: string
        readonly title: string
        readonly filename?: string | undefined
      })
    | (WithMetadata & { readonly type: 'file' | 'reasoning-file'; readonly url: string; readonly mediaType: string })
    | (WithMetadata & { readonly type: 'custom'; readonly kind: string })
    | { readonly type: 'steering-message'; readonly id: string; readonly parts: readonly unknown[] }
    | {
        readonly type: `data-${string}`
        readonly data: unknown
        readonly id?: string | undefined
        readonly transient?: boolean | undefined
      }
  )

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

/** Encodes a chunk for the AI SDK, as far as it can express it. Undefined if there is no equivalent. */
export function eventOf(chunk: Chunk): UIMessageChunk | undefined {
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
