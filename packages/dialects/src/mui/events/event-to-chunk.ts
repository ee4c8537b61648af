import type { Chunk, Json, JsonObject } from '@millrace/protocol'
import { defined, finishReasonOf } from '../../dialect/fields.ts'
import type { ChatDataChunk } from '../types.ts'
import { isExtension, type MuiEvent } from './mui-event.ts'

/** Decodes a chunk of MUI X Chat, without the supplement that Millrace may add to it. Undefined if there is no equivalent. */
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

const isDataChunk = (event: MuiEvent): event is MuiEvent & ChatDataChunk => event.type.startsWith('data-')
