// The chunks of a Kortyx stream, as its clients take them. They look at the fields that they know, and let others pass: what goes along beside a chunk is in `millrace`.

import type { Chunk, ChunkOf, Json, JsonObject } from '@millrace/protocol'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'
import { defined } from '../dialect/fields.ts'
import type { Supplement, WithGuestOrigin } from '../dialect/supplement.ts'

interface KortyxSupplement extends WithGuestOrigin {
  /** What the chunk does not say of what it stands for. */
  readonly millrace?: Supplement
}

/** Which node it is of, which use of a hook, and what the application calls that. */
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

/** What a person is asked. */
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

/** Asks a person; who answers names the request and shows the token. */
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

/** One update of a structured object. */
export type StructuredDataChunk = ChunkOf<'structured-data'> & KortyxSupplement

/** One chunk of a Kortyx stream. */
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

/** The `tool` of a `tool-result` that carries what Kortyx has no chunk for: that type is in its schema, its servers send none, and its clients show none. */
export const EXTENSION = 'millrace'

/** What an extension holds: the chunk, and whose it is where it is a sub-agent's. */
export type KortyxExtension = Pick<DecodedChunk, 'chunk' | 'origin'>

/** What our `done` holds; never what only the server is to know. */
export interface DoneData {
  readonly status: EndStatus
}

/** Which text a chunk is of. */
export function textIdOf({ opId, segmentId, node }: KortyxTextFields): string {
  if (segmentId) return opId ? `${opId}:${segmentId}` : segmentId
  return opId ? `${opId}:${node ?? ''}` : (node ?? 'text')
}

/** The chunk that one of Kortyx says by itself; undefined where we have none for it, or several. */
export function chunkOf(event: KortyxChunk): Chunk | undefined {
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

/** A value as people read it. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
