// The chunks of the first protocol of TanStack AI (`@tanstack/ai` 0.0 to 0.2), with the names of its documentation. Its clients ignore unknown fields
// and types: `millrace` holds the supplement of a chunk, or is the type of an extension.

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
    /** The arguments are a delta of their JSON text. */
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

/** The end of a model call, not always of the stream. */
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

/** A call that the client has to run. */
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

/** A chunk of ours, with its origin if it is from a sub-agent. */
export interface MillraceStreamChunk extends Omit<BaseStreamChunk, 'type'>, Pick<DecodedChunk, 'chunk' | 'origin'> {
  readonly type: 'millrace'
}

/** A chunk of a Millrace stream. */
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
/** Whether a chunk has no equivalent in TanStack AI: data, sources, files, structured objects, interrupts, state. */
export const isMillraceStreamChunk = (chunk: Typed): chunk is MillraceStreamChunk => chunk.type === 'millrace'
