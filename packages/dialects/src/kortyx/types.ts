// The chunks of a Kortyx stream. Its clients ignore unknown fields: `millrace` holds the supplement of a chunk.

import type { Chunk, ChunkOf, Json, JsonObject } from '@millrace/protocol'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'
import { defined } from '../dialect/fields.ts'
import type { Supplement, WithGuestOrigin } from '../dialect/supplement.ts'

interface KortyxSupplement extends WithGuestOrigin {
  /** The fields of our chunk that this one cannot express. */
  readonly millrace?: Supplement
}

/** The node, the hook call and the application id of a chunk. */
interface NodeFields {
  readonly node?: string | undefined
  readonly id?: string | undefined
  readonly opId?: string | undefined
}

interface KortyxTextFields extends NodeFields {
  readonly segmentId?: string | undefined
}

interface KortyxCallFields extends NodeFields {
  readonly tool: string
  readonly toolCallId: string
}

interface AboutInput {
  readonly multiple: boolean
  readonly id?: string | undefined
  readonly schemaId?: string | undefined
  readonly schemaVersion?: string | undefined
  readonly meta?: JsonObject | undefined
}

/** The question of an interrupt. */
export type InterruptInput =
  | (AboutInput & {
      readonly kind: 'text'
      readonly question?: string | undefined
      readonly options?: readonly never[] | undefined
    })
  | (AboutInput & {
      readonly kind: 'choice' | 'multi-choice'
      readonly question: string
      readonly options: readonly {
        readonly id: string
        readonly label: string
        readonly description?: string | undefined
      }[]
    })

/** An interrupt. The answer has its request id and its token. */
export interface InterruptChunk extends NodeFields, KortyxSupplement {
  readonly type: 'interrupt'
  readonly requestId: string
  readonly resumeToken: string
  readonly workflow?: string | undefined
  readonly schemaId?: string | undefined
  readonly schemaVersion?: string | undefined
  readonly meta?: JsonObject | undefined
  readonly input: InterruptInput
}

/** An update of a structured object. */
export type StructuredDataChunk = ChunkOf<'structured-data'> & KortyxSupplement

/** A chunk of a Kortyx stream. */
export type KortyxChunk =
  | InterruptChunk
  | StructuredDataChunk
  | (KortyxSupplement &
      (
        | { readonly type: 'session'; readonly sessionId: string }
        | {
            readonly type: 'trace'
            readonly traceId: string
            readonly spanId: string
            readonly runId: string
            readonly rootSpanName: 'kortyx.run'
          }
        | { readonly type: 'status'; readonly message: string; readonly node?: string | undefined }
        | ({ readonly type: 'text-start' | 'text-end' } & KortyxTextFields)
        | ({ readonly type: 'text-delta'; readonly delta: string } & KortyxTextFields)
        | { readonly type: 'message'; readonly content: string; readonly node?: string | undefined }
        | ({ readonly type: 'tool-call-start'; readonly input?: unknown } & KortyxCallFields)
        | ({
            readonly type: 'tool-call-result'
            readonly content: unknown
            readonly structuredContent?: unknown
            readonly isError?: boolean | undefined
          } & KortyxCallFields)
        | ({ readonly type: 'tool-call-error'; readonly message: string } & KortyxCallFields)
        | {
            readonly type: 'tool-result'
            readonly tool?: string | undefined
            readonly node?: string | undefined
            readonly content: unknown
          }
        | {
            readonly type: 'structured-data-invalidated'
            readonly streamId: string
            readonly checkpointId: string
          }
        | { readonly type: 'transition'; readonly transitionTo: string; readonly payload?: unknown }
        | {
            readonly type: 'checkpoint'
            readonly id: string
            readonly sessionId: string
            readonly turnIndex: number
            readonly label?: string | undefined
          }
        | { readonly type: 'done'; readonly data?: unknown }
        | { readonly type: 'error'; readonly message: string }
      ))

/**
 * The `tool` of `tool-result` chunks that carry chunks that Kortyx has no type for. Kortyx has this type in its schema, but its servers never send
 * it and its clients ignore it.
 */
export const EXTENSION = 'millrace'

/** The content of an extension: the chunk, and its origin if it is from a sub-agent. */
export type KortyxExtension = Pick<DecodedChunk, 'chunk' | 'origin'>

/** The data of our `done` chunk. Clients see it. */
export interface DoneData {
  readonly status: EndStatus
}

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
