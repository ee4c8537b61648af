// The chunks of a Kortyx stream. Its clients ignore unknown fields: `millrace` holds the supplement of a chunk.

import type { ChunkOf, JsonObject } from '@millrace/protocol'
import type { EndStatus } from '../dialect/dialect.ts'
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

/** The ids that name the text of a chunk. */
export interface KortyxTextFields extends NodeFields {
  readonly segmentId?: string | undefined
}

interface KortyxCallFields extends NodeFields {
  readonly tool: string
  readonly toolCallId: string
}

interface InputFields {
  readonly multiple: boolean
  readonly id?: string | undefined
  readonly schemaId?: string | undefined
  readonly schemaVersion?: string | undefined
  readonly meta?: JsonObject | undefined
}

/** The question of an interrupt. */
export type InterruptInput =
  | (InputFields & {
      readonly kind: 'text'
      readonly question?: string | undefined
      readonly options?: readonly never[] | undefined
    })
  | (InputFields & {
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

/** The data of our `done` chunk. Clients see it. */
export interface DoneData {
  readonly status: EndStatus
}
