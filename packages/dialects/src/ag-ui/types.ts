// The events and messages of AG-UI 1.0. Its clients warn about unknown fields, and reject null in optional fields. Every event may have `metadata`,
// which is free to use: `metadata.millrace` holds the supplement.

import type { GuestOrigin, Json, JsonObject, Operation } from '@millrace/protocol'
import type { Supplement } from '../dialect/supplement.ts'

interface Base {
  readonly timestamp?: number
  readonly metadata?: AgUiMetadata
}

/** Free fields of an event. `millrace` holds the fields of our chunk that the event cannot express. */
export interface AgUiMetadata {
  readonly [key: string]: unknown
  readonly millrace?: Supplement
  /** The origin of the chunk, if a guest wrote it. */
  readonly millraceOrigin?: GuestOrigin
}

/** The sub-agent of an event. */
interface Tagged extends Base {
  readonly subagentRunId?: string
}

interface AgUiMessageFields extends Tagged {
  readonly messageId: string
}

interface AgUiCallFields extends Tagged {
  readonly toolCallId: string
}

/** A part of a message or of a tool result. */
export type AgUiContent =
  | { readonly type: 'text'; readonly text: string; readonly id?: string }
  | {
      readonly type: 'image' | 'audio' | 'video' | 'document'
      readonly source:
        | { readonly type: 'data'; readonly value: string; readonly mimeType: string }
        | { readonly type: 'url' | 'file'; readonly value: string; readonly mimeType?: string }
      readonly id?: string
    }

export interface AgUiToolCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

interface MessageBase {
  readonly id: string
  readonly subagentRunId?: string
}

/** A message of a conversation. */
export type AgUiMessage = MessageBase &
  (
    | { readonly role: 'user'; readonly content: string | AgUiContent[] }
    | { readonly role: 'developer' | 'system' | 'reasoning'; readonly content: string }
    | { readonly role: 'assistant'; readonly content?: string; readonly toolCalls?: AgUiToolCall[] }
    | {
        readonly role: 'tool'
        readonly toolCallId: string
        readonly content: string | AgUiContent[]
        readonly error?: string
      }
  )

/** A request that has to be answered before a run continues. */
export interface AgUiInterrupt {
  readonly id: string
  readonly reason: string
  readonly message?: string
  readonly toolCallId?: string
  readonly responseSchema?: JsonObject
  readonly expiresAt?: string
  readonly metadata?: JsonObject
  readonly subagentRunId?: string
}

export type AgUiOutcome =
  | { readonly type: 'success'; readonly pendingToolCallIds?: string[] }
  | { readonly type: 'interrupt'; readonly interrupts: AgUiInterrupt[] }
  | { readonly type: 'cancelled' }

/** Token usage of one model. */
export interface AgUiUsage {
  readonly provider?: string
  readonly model?: string
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly totalTokens?: number
  readonly reasoningTokens?: number
  readonly cachedInputTokens?: number
  readonly cacheWriteInputTokens?: number
}

/** An event of AG-UI. */
export type AgUiEvent =
  | (Base & {
      readonly type: 'RUN_STARTED'
      readonly threadId: string
      readonly runId: string
      readonly protocolVersion?: string
      readonly parentRunId?: string
    })
  | (Base & {
      readonly type: 'RUN_FINISHED'
      readonly threadId: string
      readonly runId: string
      readonly result?: Json
      readonly outcome?: AgUiOutcome
      readonly usage?: AgUiUsage[]
    })
  | (Base & {
      readonly type: 'RUN_ERROR'
      readonly message: string
      readonly code?: string
      readonly usage?: AgUiUsage[]
    })
  | (Tagged & { readonly type: 'STEP_STARTED' | 'STEP_FINISHED'; readonly stepName: string })
  | (AgUiMessageFields & {
      readonly type: 'TEXT_MESSAGE_START'
      readonly role?: 'developer' | 'system' | 'assistant' | 'user'
      readonly name?: string
    })
  | (AgUiMessageFields & {
      readonly type: 'TEXT_MESSAGE_CONTENT' | 'REASONING_MESSAGE_CONTENT'
      readonly delta: string
    })
  | (AgUiMessageFields & {
      readonly type: 'TEXT_MESSAGE_END' | 'REASONING_MESSAGE_END' | 'REASONING_START' | 'REASONING_END'
    })
  | (AgUiMessageFields & { readonly type: 'REASONING_MESSAGE_START'; readonly role: 'reasoning' })
  | (Tagged & {
      readonly type: 'TEXT_MESSAGE_CHUNK' | 'REASONING_MESSAGE_CHUNK'
      readonly messageId?: string
      readonly delta?: string
    })
  | (AgUiCallFields & {
      readonly type: 'TOOL_CALL_START'
      readonly toolCallName: string
      readonly parentMessageId?: string
    })
  | (AgUiCallFields & { readonly type: 'TOOL_CALL_ARGS'; readonly delta: string })
  | (AgUiCallFields & { readonly type: 'TOOL_CALL_END' })
  | (Tagged & {
      readonly type: 'TOOL_CALL_CHUNK'
      readonly toolCallId?: string
      readonly toolCallName?: string
      readonly parentMessageId?: string
      readonly delta?: string
    })
  | (AgUiCallFields & {
      readonly type: 'TOOL_CALL_RESULT'
      readonly messageId: string
      readonly content: string | AgUiContent[]
      readonly role?: 'tool'
    })
  | (Tagged & { readonly type: 'STATE_SNAPSHOT'; readonly snapshot: Json })
  | (Tagged & { readonly type: 'STATE_DELTA'; readonly delta: Operation[] })
  | (Base & { readonly type: 'MESSAGES_SNAPSHOT'; readonly messages: AgUiMessage[] })
  | (AgUiMessageFields & {
      readonly type: 'ACTIVITY_SNAPSHOT'
      readonly activityType: string
      readonly content: JsonObject
      readonly replace?: boolean
    })
  | (AgUiMessageFields & {
      readonly type: 'ACTIVITY_DELTA'
      readonly activityType: string
      readonly patch: Operation[]
    })
  | (Tagged & {
      readonly type: 'REASONING_ENCRYPTED_VALUE'
      readonly subtype: 'tool-call' | 'message'
      readonly entityId: string
      readonly encryptedValue: string
    })
  | (Base & {
      readonly type: 'SUBAGENT_STARTED'
      readonly subagentRunId: string
      readonly name: string
      readonly description?: string
      readonly parentSubagentRunId?: string
      readonly parentToolCallId?: string
      readonly parentMessageId?: string
    })
  | (Base & {
      readonly type: 'SUBAGENT_FINISHED'
      readonly subagentRunId: string
      readonly result?: Json
      readonly outcome?: { readonly type: 'success' } | { readonly type: 'suspended'; readonly interruptIds?: string[] }
    })
  | (Base & {
      readonly type: 'SUBAGENT_ERROR'
      readonly subagentRunId: string
      readonly message: string
      readonly code?: string
    })
  | (Tagged & { readonly type: 'RAW'; readonly event: Json; readonly source?: string })
  | (Tagged & { readonly type: 'CUSTOM'; readonly name: string; readonly value: Json })

/** Events by type. */
export type EventOf<Type extends AgUiEvent['type']> = Extract<AgUiEvent, { readonly type: Type }>
