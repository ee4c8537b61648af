export type { Computed } from '@millrace/dialects/foreign-server'
export type {
  ConnectionStatus,
  Message,
  Part,
  Pending,
  Snapshot,
  StructuredObject,
  StructuredState,
  TextPart,
  ToolPart,
  View,
} from '@millrace/protocol'
export type { Backoff } from '@millrace/protocol/retry'
export { type AdapterChat, type AdapterChatOptions, createAdapterChat } from './bridge/adapter-chat.ts'
export {
  createStream,
  type FetchStreamInit,
  fetchNdjson,
  fetchServerSentEvents,
  fromAsyncIterable,
} from './bridge/streams.ts'
export type {
  ChatAdapter,
  ChatAttachment,
  ChatDataMessagePart,
  ChatDynamicToolMessagePart,
  ChatFileMessagePart,
  ChatListMessagesInput,
  ChatListMessagesResult,
  ChatMessage,
  ChatMessageChunk,
  ChatMessagePart,
  ChatReasoningMessagePart,
  ChatReconnectToStreamInput,
  ChatRegenerateInput,
  ChatSendMessageInput,
  ChatSourceDocumentMessagePart,
  ChatSourceUrlMessagePart,
  ChatStepStartMessagePart,
  ChatStream,
  ChatStreamEnvelope,
  ChatTextMessagePart,
  ChatToolApprovalResponse,
  ChatToolInvocation,
  ChatToolMessagePart,
  ChatUser,
} from './bridge/types.ts'
export type { ChatCallbacks, ChatFinish } from './chat/callbacks.ts'
export type {
  Chat,
  ChatAnswer,
  ChatInput,
  ChatState,
  ChatStatus,
  SendOptions,
  SendResult,
  UserPart,
  WhenBusy,
} from './chat/chat.ts'
export { type ChatOptions, createChat } from './chat/http-chat.ts'
export type { ApiOptions } from './connection/api.ts'
export {
  type ChatConnection,
  type ConnectionOptions,
  createConnection,
  type PageConnection,
  type SessionEntry,
} from './connection/page-connection.ts'
export { type ChatError, type ErrorSource, RequestError } from './error/chat-error.ts'
export { Store, type StoreOptions, type Topic } from './store/store.ts'
export {
  type StructuredChunk,
  type StructuredItems,
  StructuredStreams,
} from './structured/structured-streams.ts'
export type * from './types/index.ts'
