// The types of MUI X Chat (`@mui/x-chat-headless` 9), under its names: chunks and messages as an adapter returns them.

import type { MessageStatus, ToolState } from '@millrace/protocol'

/** The author of a message. */
export interface ChatUser {
  readonly id: string
  readonly displayName?: string
  readonly avatarUrl?: string
  readonly [field: string]: unknown
}

interface MuiPartFields {
  readonly id: string
}

interface MuiCallFields {
  readonly toolCallId: string
}

interface MuiNamedCallFields extends MuiCallFields {
  readonly toolName: string
  readonly dynamic?: boolean | undefined
}

/** Application data. */
export interface ChatDataChunk {
  readonly type: `data-${string}`
  readonly data: unknown
  readonly id?: string | undefined
  readonly transient?: boolean | undefined
}

/** A chunk of a reply. */
export type ChatMessageChunk =
  | { readonly type: 'start'; readonly messageId?: string | undefined; readonly author?: ChatUser | undefined }
  | { readonly type: 'finish'; readonly messageId?: string | undefined; readonly finishReason?: string | undefined }
  | { readonly type: 'abort'; readonly messageId?: string | undefined }
  | { readonly type: 'error'; readonly errorText?: string | undefined; readonly message?: string | undefined }
  | (MuiPartFields & { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end' })
  | (MuiPartFields & { readonly type: 'text-delta' | 'reasoning-delta'; readonly delta: string })
  | (MuiNamedCallFields & { readonly type: 'tool-input-start' })
  | (MuiCallFields & { readonly type: 'tool-input-delta'; readonly inputTextDelta: string })
  | (MuiNamedCallFields & { readonly type: 'tool-input-available'; readonly input: unknown })
  | (MuiCallFields & { readonly type: 'tool-input-error'; readonly errorText: string })
  | (MuiNamedCallFields & {
      readonly type: 'tool-approval-request'
      readonly input: unknown
      readonly approvalId?: string | undefined
    })
  | (MuiCallFields & {
      readonly type: 'tool-output-available'
      readonly output: unknown
      readonly preliminary?: boolean | undefined
    })
  | (MuiCallFields & { readonly type: 'tool-output-error'; readonly errorText: string })
  | (MuiCallFields & { readonly type: 'tool-output-denied'; readonly reason?: string | undefined })
  | {
      readonly type: 'source-url'
      readonly sourceId: string
      readonly url: string
      readonly title?: string | undefined
    }
  | {
      readonly type: 'source-document'
      readonly sourceId: string
      readonly title?: string | undefined
      readonly text?: string | undefined
    }
  | {
      readonly type: 'file'
      readonly mediaType: string
      readonly url: string
      readonly filename?: string | undefined
      readonly id?: string | undefined
    }
  | { readonly type: 'start-step' }
  | { readonly type: 'finish-step' }
  | { readonly type: 'message-metadata'; readonly metadata: Record<string, unknown> }
  | ChatDataChunk

/** A chunk with `eventId`, to detect repeats, and `sequence`, for its order. */
export interface ChatStreamEnvelope {
  readonly eventId?: string | undefined
  readonly sequence?: number | undefined
  readonly chunk: ChatMessageChunk
}

/** The reply of an adapter: chunks and envelopes in any mix. */
export type ChatStream = ReadableStream<ChatMessageChunk | ChatStreamEnvelope>

export interface ChatTextMessagePart {
  readonly type: 'text'
  readonly text: string
  readonly state?: 'streaming' | 'done'
}

export interface ChatReasoningMessagePart {
  readonly type: 'reasoning'
  readonly text: string
  readonly state?: 'streaming' | 'done'
}

/** The state of a tool call. */
export interface ChatToolInvocation {
  readonly toolCallId: string
  readonly toolName: string
  readonly state: ToolState
  readonly input?: unknown
  readonly output?: unknown
  readonly errorText?: string
  readonly approval?: { readonly approved: boolean; readonly reason?: string }
  readonly approvalId?: string
  readonly providerExecuted?: boolean
  readonly title?: string
  readonly callProviderMetadata?: Record<string, unknown>
  readonly preliminary?: boolean
}

export interface ChatToolMessagePart {
  readonly type: 'tool'
  readonly toolInvocation: ChatToolInvocation
}

export interface ChatDynamicToolMessagePart {
  readonly type: 'dynamic-tool'
  readonly toolInvocation: ChatToolInvocation
}

export interface ChatSourceUrlMessagePart {
  readonly type: 'source-url'
  readonly sourceId: string
  readonly url: string
  readonly title?: string
}

export interface ChatSourceDocumentMessagePart {
  readonly type: 'source-document'
  readonly sourceId: string
  readonly title?: string
  readonly text?: string
}

export interface ChatFileMessagePart {
  readonly type: 'file'
  readonly mediaType: string
  readonly url: string
  readonly filename?: string
  readonly id?: string
}

export interface ChatDataMessagePart {
  readonly type: `data-${string}`
  readonly data: unknown
  readonly id?: string
}

export interface ChatStepStartMessagePart {
  readonly type: 'step-start'
}

/** A part of a message. */
export type ChatMessagePart =
  | ChatTextMessagePart
  | ChatReasoningMessagePart
  | ChatToolMessagePart
  | ChatDynamicToolMessagePart
  | ChatSourceUrlMessagePart
  | ChatSourceDocumentMessagePart
  | ChatFileMessagePart
  | ChatDataMessagePart
  | ChatStepStartMessagePart

/** A message. */
export interface ChatMessage {
  readonly id: string
  readonly role: 'user' | 'assistant' | 'system'
  readonly parts: readonly ChatMessagePart[]
  readonly status?: MessageStatus
  /** Time of creation, in ISO 8601. */
  readonly createdAt?: string
  readonly author?: ChatUser
  readonly metadata?: Record<string, unknown>
  readonly conversationId?: string
}

/** An attachment of a message. */
export interface ChatAttachment {
  readonly localId: string
  readonly file: File
}

export interface ChatSendMessageInput {
  readonly conversationId?: string | undefined
  /** The user message. It is also the last of the messages. */
  readonly message: ChatMessage
  readonly messages: ChatMessage[]
  readonly attachments?: ChatAttachment[] | undefined
  readonly metadata?: Record<string, unknown> | undefined
  readonly signal: AbortSignal
}

export interface ChatReconnectToStreamInput {
  readonly conversationId?: string | undefined
  /** The received part of the reply whose connection was dropped. */
  readonly messageId?: string | undefined
  readonly signal: AbortSignal
}

export interface ChatRegenerateInput {
  readonly conversationId?: string | undefined
  /** Id of the reply to regenerate. It is not in the messages any more. */
  readonly messageId: string
  /** The message to reply to, which is the last one. */
  readonly message: ChatMessage
  readonly messages: ChatMessage[]
  readonly signal: AbortSignal
}

export interface ChatListMessagesInput<Cursor = string> {
  readonly conversationId?: string | undefined
  readonly cursor?: Cursor | undefined
  readonly direction?: 'forward' | 'backward' | undefined
}

export interface ChatListMessagesResult<Cursor = string> {
  readonly messages: readonly ChatMessage[]
  readonly cursor?: Cursor | undefined
  readonly hasMore?: boolean | undefined
}

export interface ChatToolApprovalResponse {
  /** The approval id, or the id of the call. */
  readonly id: string
  readonly approved: boolean
  readonly reason?: string | undefined
}

/** Connects a chat to a server. Only `sendMessage` is required. */
export interface ChatAdapter<Cursor = string> {
  /** Sends a message and returns the stream of the reply. */
  sendMessage(input: ChatSendMessageInput): Promise<ChatStream>
  /** Resumes a reply. Null if there is nothing to resume. */
  reconnectToStream?(input: ChatReconnectToStreamInput): Promise<ChatStream | null>
  /** Generates a reply again. */
  regenerate?(input: ChatRegenerateInput): Promise<ChatStream>
  /** Stops the current reply. */
  stop?(): void | Promise<void>
  /** Returns a page of the history. */
  listMessages?(input: ChatListMessagesInput<Cursor>): Promise<ChatListMessagesResult<Cursor>>
  /** Answers an approval. */
  addToolApprovalResponse?(input: ChatToolApprovalResponse): void | Promise<void>
}

/** An item of the conversation list. */
export interface ChatConversation {
  id: string
  title?: string
  subtitle?: string
  lastMessageAt?: string
}

/** An event for MUI's chat runtime outside of the reply stream. */
export type ChatRealtimeEvent =
  | {
      readonly type: 'message-updated'
      /** Present fields replace those of the message. */
      readonly message: Omit<ChatMessage, 'metadata'> & { readonly metadata?: Record<string, unknown> | undefined }
    }
  | { readonly type: 'message-removed'; readonly messageId: string; readonly conversationId?: string }

type Exactly<T> = T extends unknown ? { -readonly [K in keyof T]: Exclude<T[K], undefined> } : never

/** A chunk in the stricter types of MUI's chat runtime. */
export type ChatReplyChunk =
  | { type: 'start'; messageId: string }
  | { type: 'finish'; messageId: string; finishReason?: string }
  | { type: 'abort'; messageId: string }
  | Exactly<Exclude<ChatMessageChunk, { readonly type: 'start' | 'finish' | 'abort' | 'error' }>>

/** A message in the stricter types of MUI's chat runtime. */
export interface ChatThreadMessage extends Omit<ChatMessage, 'parts'> {
  parts: ChatMessagePart[]
}
