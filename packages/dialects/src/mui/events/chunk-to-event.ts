import type { Chunk } from '@millrace/protocol'
import { defined } from '../../dialect/fields.ts'
import { EXTENSION, type MuiEvent } from './mui-event.ts'

/** Encodes a chunk, as far as MUI X Chat can express it. Undefined if there is no equivalent. `names` has the tools by call id. */
export function chunkToEvent(
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
