// The chunks of TanStack AI's first protocol (`@tanstack/ai` 0.0 to 0.2), under the names that its documentation gives them. Its clients ignore fields and types that they
// do not know: what goes along beside a chunk is in `millrace`, and what it has no chunk for is a chunk of that type.

import type { Json } from '@millrace/protocol'
import type { DecodedChunk } from '../dialect/dialect.ts'
import type { Supplement, WithGuestOrigin } from '../dialect/supplement.ts'

export type StreamChunkType =
  | 'content'
  | 'tool_call'
  | 'tool_result'
  | 'done'
  | 'error'
  | 'approval-requested'
  | 'tool-input-available'
  | 'thinking'

export interface BaseStreamChunk {
  readonly type: StreamChunkType
  readonly id: string
  readonly model: string
  /** In milliseconds. */
  readonly timestamp: number
}

export interface ContentStreamChunk extends BaseStreamChunk {
  readonly type: 'content'
  readonly delta?: string
  /** All of it so far. */
  readonly content: string
  readonly role?: 'assistant'
}

export interface ToolCallStreamChunk extends BaseStreamChunk {
  readonly type: 'tool_call'
  readonly toolCall: {
    readonly id: string
    readonly type: 'function'
    /** The arguments are what is new of their JSON text. */
    readonly function: { readonly name: string; readonly arguments: string }
  }
  readonly index: number
}

export interface ToolResultStreamChunk extends BaseStreamChunk {
  readonly type: 'tool_result'
  readonly toolCallId: string
  readonly content: string
}

export type FinishReason = 'stop' | 'length' | 'content_filter' | 'tool_calls' | null

/** A model call has ended, and not always the stream. */
export interface DoneStreamChunk extends BaseStreamChunk {
  readonly type: 'done'
  readonly finishReason: FinishReason
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number; readonly totalTokens: number }
}

/** The last chunk of its stream. */
export interface ErrorStreamChunk extends BaseStreamChunk {
  readonly type: 'error'
  readonly error: { readonly message: string; readonly code?: string }
}

export interface ApprovalRequestedStreamChunk extends BaseStreamChunk {
  readonly type: 'approval-requested'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json
  readonly approval: { readonly id: string; readonly needsApproval: true }
}

/** A call that a client is to execute. */
export interface ToolInputAvailableStreamChunk extends BaseStreamChunk {
  readonly type: 'tool-input-available'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json
}

export interface ThinkingStreamChunk extends BaseStreamChunk {
  readonly type: 'thinking'
  readonly delta?: string
  /** All of it so far. */
  readonly content: string
}

export type TanstackStreamChunk =
  | ContentStreamChunk
  | ToolCallStreamChunk
  | ToolResultStreamChunk
  | DoneStreamChunk
  | ErrorStreamChunk
  | ApprovalRequestedStreamChunk
  | ToolInputAvailableStreamChunk
  | ThinkingStreamChunk

/** The type under which goes what TanStack AI has no chunk for. */
export const EXTENSION = 'millrace'

/** A chunk of ours, and whose it is where it is a sub-agent's. */
export interface MillraceStreamChunk extends Omit<BaseStreamChunk, 'type'>, Pick<DecodedChunk, 'chunk' | 'origin'> {
  readonly type: typeof EXTENSION
}

/** What a stream of ours consists of. */
export type TanstackChunk = WithGuestOrigin &
  ((TanstackStreamChunk & { readonly millrace?: Supplement }) | MillraceStreamChunk)

interface Typed {
  readonly type: string
}

export const isContentStreamChunk = (chunk: Typed): chunk is ContentStreamChunk => chunk.type === 'content'
export const isToolCallStreamChunk = (chunk: Typed): chunk is ToolCallStreamChunk => chunk.type === 'tool_call'
export const isToolResultStreamChunk = (chunk: Typed): chunk is ToolResultStreamChunk => chunk.type === 'tool_result'
export const isDoneStreamChunk = (chunk: Typed): chunk is DoneStreamChunk => chunk.type === 'done'
export const isErrorStreamChunk = (chunk: Typed): chunk is ErrorStreamChunk => chunk.type === 'error'
export const isApprovalRequestedStreamChunk = (chunk: Typed): chunk is ApprovalRequestedStreamChunk =>
  chunk.type === 'approval-requested'
export const isToolInputAvailableStreamChunk = (chunk: Typed): chunk is ToolInputAvailableStreamChunk =>
  chunk.type === 'tool-input-available'
export const isThinkingStreamChunk = (chunk: Typed): chunk is ThinkingStreamChunk => chunk.type === 'thinking'
/** What has no counterpart in TanStack AI: data, sources, files, structured objects, questions, states. */
export const isMillraceStreamChunk = (chunk: Typed): chunk is MillraceStreamChunk => chunk.type === EXTENSION
