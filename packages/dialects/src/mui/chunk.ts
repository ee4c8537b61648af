// Converts between the chunks of MUI X Chat and ours. Its runtime ignores unknown fields and types: `millrace` holds the supplement of a chunk, and
// chunks without an equivalent have a type of their own.

import type { Chunk, GuestOrigin, Json, JsonObject, Origin } from '@millrace/protocol'
import { defined, finishReasonOf } from '../dialect/fields.ts'
import type { Supplement } from '../dialect/supplement.ts'
import type { ChatDataChunk, ChatMessageChunk } from './types.ts'

/** The type of data parts for chunks that MUI X Chat has no type for and that a page shows: interrupts, responses, and complete structured objects. */
export const EXTENSION = 'data-millrace'

/** The type of all other chunks without an equivalent. The runtime ignores it, while it keeps data parts even if they are transient. */
export const HIDDEN_EXTENSION = 'millrace'

/** The data of an extension. */
export interface MuiExtension {
  readonly chunk: Chunk
}

/** The origin of a chunk, unless it is the main lane of the run. */
export type MuiOrigin = Origin | GuestOrigin | { readonly lane: string; readonly guest?: never; readonly runId?: never }

interface MuiSupplement {
  /** The fields of our chunk that this one cannot express. */
  readonly millrace?: Supplement
  readonly origin?: MuiOrigin
}

/** A chunk on the wire: one of MUI X Chat or an extension. */
export type MuiEvent = MuiSupplement & (ChatMessageChunk | { readonly type: 'millrace'; readonly data: MuiExtension })

export const isExtension = (event: MuiEvent): event is MuiSupplement & { type: 'millrace'; data: MuiExtension } =>
  event.type === HIDDEN_EXTENSION || event.type === EXTENSION

const isDataChunk = (event: MuiEvent): event is MuiSupplement & ChatDataChunk => event.type.startsWith('data-')

/** Decodes a chunk of MUI X Chat without its supplement. Undefined if there is no equivalent. */
export function eventToChunk(event: MuiEvent): Chunk | undefined {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return { type: event.type, id: event.id, delta: event.delta }
    case 'text-start':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-end':
      return { type: event.type, id: event.id }
    case 'start':
    case 'abort':
      return { type: event.type }
    case 'finish': {
      const { type, finishReason: reason } = event
      const finishReason = finishReasonOf(reason)
      return defined({ type, finishReason }) as Chunk
    }
    case 'error':
      return { type: event.type, message: event.errorText ?? event.message ?? 'The reply failed.' }
    case 'message-metadata':
      return { type: event.type, metadata: event.metadata as JsonObject }
    case 'start-step':
      return { type: 'step-start' }
    case 'finish-step':
      return { type: 'step-finish' }
    case 'tool-input-start': {
      const { type, toolCallId, toolName, dynamic } = event
      return defined({ type, toolCallId, toolName, dynamic }) as Chunk
    }
    case 'tool-input-delta':
      return { type: event.type, toolCallId: event.toolCallId, delta: event.inputTextDelta }
    case 'tool-input-available': {
      const { type, toolCallId, toolName, input, dynamic } = event
      return defined({ type, toolCallId, toolName, input: (input ?? null) as Json, dynamic }) as Chunk
    }
    case 'tool-input-error':
      return { type: event.type, toolCallId: event.toolCallId, errorText: event.errorText }
    case 'tool-approval-request': {
      const { type, toolCallId, toolName, input, approvalId = toolCallId } = event
      return { type, toolCallId, toolName, approvalId, input: (input ?? null) as Json }
    }
    case 'tool-output-available': {
      const { type, toolCallId, output, preliminary } = event
      return defined({ type, toolCallId, output: (output ?? null) as Json, preliminary }) as Chunk
    }
    case 'tool-output-error':
      return { type: event.type, toolCallId: event.toolCallId, errorText: event.errorText }
    case 'tool-output-denied':
      return defined({ type: event.type, toolCallId: event.toolCallId, reason: event.reason }) as Chunk
    case 'source-url': {
      const { type, sourceId, url, title } = event
      return defined({ type, sourceId, url, title }) as Chunk
    }
    case 'source-document': {
      const { type, sourceId, title, text } = event
      return defined({ type, sourceId, title, text }) as Chunk
    }
    case 'file': {
      const { type, mediaType, url, filename, id } = event
      return defined({ type, mediaType, url, filename, id }) as Chunk
    }
    default:
      if (isExtension(event) || !isDataChunk(event)) return undefined
      return defined({
        type: event.type,
        data: (event.data ?? null) as Json,
        id: event.id,
        transient: event.transient,
      }) as Chunk
  }
}

/** Encodes a chunk, as far as MUI X Chat can express it. Undefined if there is no equivalent. `names` has the tools by call id. */
export function eventOf(
  chunk: Chunk,
  messageId: string | undefined,
  names: ReadonlyMap<string, string>,
): MuiEvent | undefined {
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return chunk.providerMetadata === undefined ? chunk : { type: chunk.type, id: chunk.id, delta: chunk.delta }
    case 'text-start':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-end':
      return { type: chunk.type, id: chunk.id }
    case 'start':
    case 'abort':
      return defined({ type: chunk.type, messageId })
    case 'finish':
      return defined({ type: chunk.type, messageId, finishReason: chunk.finishReason })
    case 'message-metadata':
      return { type: chunk.type, metadata: chunk.metadata }
    case 'step-start':
      return { type: 'start-step' }
    case 'step-finish':
      return { type: 'finish-step' }
    case 'tool-input-start': {
      const { type, toolCallId, toolName, dynamic } = chunk
      return defined({ type, toolCallId, toolName, dynamic })
    }
    case 'tool-input-delta':
      return { type: chunk.type, toolCallId: chunk.toolCallId, inputTextDelta: chunk.delta }
    case 'tool-input-available': {
      const { type, toolCallId, toolName, input, dynamic } = chunk
      return defined({ type, toolCallId, toolName, input, dynamic })
    }
    case 'tool-input-error':
      return { type: chunk.type, toolCallId: chunk.toolCallId, errorText: chunk.errorText }
    case 'tool-approval-request': {
      const { type, toolCallId, input, approvalId } = chunk
      const toolName = chunk.toolName ?? names.get(toolCallId)
      return toolName === undefined ? undefined : { type, toolCallId, toolName, input, approvalId }
    }
    case 'tool-output-available': {
      const { type, toolCallId, output, preliminary } = chunk
      return defined({ type, toolCallId, output, preliminary })
    }
    case 'tool-output-error':
      return { type: chunk.type, toolCallId: chunk.toolCallId, errorText: chunk.errorText }
    case 'tool-output-denied':
      return defined({ type: chunk.type, toolCallId: chunk.toolCallId, reason: chunk.reason })
    case 'source-url': {
      const { type, sourceId, url, title } = chunk
      return defined({ type, sourceId, url, title })
    }
    case 'source-document': {
      const { type, sourceId, title, text } = chunk
      return defined({ type, sourceId, title, text })
    }
    case 'file': {
      const { type, mediaType, url, filename, id } = chunk
      return defined({ type, mediaType, url, filename, id })
    }
    default: {
      const { type, transient } = chunk as { readonly type: string; readonly transient?: boolean }
      const isData = type.startsWith('data-') && type !== EXTENSION
      // The runtime would keep transient data.
      return isData && !transient ? (chunk as MuiEvent) : undefined
    }
  }
}

/** The id of the extension part in which a message keeps a chunk. Undefined if it does not. Requests of sub-agents are kept. */
export function extensionIdOf(chunk: Chunk, isOfSubAgent: boolean): string | undefined {
  switch (chunk.type) {
    case 'interrupt':
      return `interrupt:${chunk.interruptId}`
    case 'interrupt-response':
      return `answer:${chunk.interruptId}`
    case 'tool-approval-request':
      return isOfSubAgent ? `approval:${chunk.approvalId}` : undefined
    case 'structured-data':
      return chunk.kind === 'final' ? `structured:${chunk.streamId}` : undefined
    default:
      return undefined
  }
}
