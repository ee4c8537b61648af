import type { Chunk, ChunkOf, Json } from '@millrace/protocol'
import { defined } from '../../dialect/fields.ts'
import type { KortyxChunk, KortyxTextFields } from '../types.ts'

/** The id of the text of a chunk. */
export function textIdOf({ opId, segmentId, node }: KortyxTextFields): string {
  if (segmentId) return opId ? `${opId}:${segmentId}` : segmentId
  return opId ? `${opId}:${node ?? ''}` : (node ?? 'text')
}

/** Decodes a chunk of Kortyx without its supplement. Undefined if there is not exactly one equivalent. */
export function eventToChunk(event: KortyxChunk): Chunk | undefined {
  switch (event.type) {
    case 'text-delta':
      return { type: event.type, id: textIdOf(event), delta: event.delta }
    case 'text-start':
    case 'text-end':
      return { type: event.type, id: textIdOf(event) }
    case 'session':
      return { type: event.type, sessionId: event.sessionId }
    case 'status':
      return { type: event.type, message: event.message }
    case 'trace': {
      const { traceId, spanId, runId } = event
      return { type: 'message-metadata', metadata: { traceId, spanId, runId } }
    }
    case 'tool-call-start': {
      const { toolCallId, tool: toolName, input = {} } = event
      return { type: 'tool-input-available', toolCallId, toolName, input: input as Json }
    }
    case 'tool-call-result': {
      const { toolCallId, content, structuredContent = content, isError } = event
      if (isError) return { type: 'tool-output-error', toolCallId, errorText: textOf(content) }
      return { type: 'tool-output-available', toolCallId, output: (structuredContent ?? null) as Json }
    }
    case 'tool-call-error':
      return { type: 'tool-output-error', toolCallId: event.toolCallId, errorText: event.message }
    case 'tool-result':
      return { type: 'data-tool-result', data: defined({ tool: event.tool, content: event.content }) as Json }
    case 'structured-data': {
      const { millrace, millraceOrigin, ...chunk } = event
      return chunk
    }
    case 'structured-data-invalidated':
      return { type: event.type, streamId: event.streamId }
    case 'interrupt': {
      const { requestId, input, schemaId = input.schemaId, schemaVersion = input.schemaVersion } = event
      const meta = input.meta || event.meta ? { ...input.meta, ...event.meta } : undefined
      const { id, schemaId: _, schemaVersion: __, meta: ___, ...question } = input
      return defined({
        type: event.type,
        interruptId: requestId,
        input: question as ChunkOf<'interrupt'>['input'],
        schemaId,
        schemaVersion,
        meta,
      }) as Chunk
    }
    case 'transition': {
      const { type, transitionTo, payload } = event
      return defined({ type, transitionTo, payload: payload as Json | undefined }) as Chunk
    }
    case 'checkpoint':
      return { type: 'checkpoint-created', checkpointId: event.id }
    case 'error':
      return { type: event.type, message: event.message }
    default:
      return undefined
  }
}

/** The text of a value. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
