// The chunks of the UI message stream of the AI SDK (`ai` 7). Its schemas accept unknown fields: `millrace` holds the supplement of a chunk.

import type { JsonObject } from '@millrace/protocol'
import type { Supplement, WithGuestOrigin } from '../dialect/supplement.ts'

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
