import type { ConnectionStatus, Json, MessageChunk } from '@millrace/protocol'
import type { ChatError } from '../error/chat-error.ts'
import type { Store } from '../store/store.ts'
import type { ClientTools } from '../types/index.ts'
import type { ChatCallbacks } from './callbacks.ts'

/** A part of a user message. */
export type UserPart = MessageChunk['parts'][number]

/** Content of a user message: text, or parts and files. */
export type ChatInput =
  | string
  | {
      readonly text?: string
      readonly parts?: readonly UserPart[]
      readonly files?: Iterable<File>
      readonly metadata?: NonNullable<MessageChunk['metadata']>
    }

/** What to do with a message that is sent while a run is open: queue it, reject it, or stop the run first. */
export type WhenBusy = 'queue' | 'reject' | 'interrupt-previous'

/** Options of a send. */
export interface SendOptions {
  /** Id of the message. @default a new id */
  readonly messageId?: string
  /** Agent for this message. @default the agent or workflow of the chat */
  readonly agent?: string
  /** Workflow for this message, instead of an agent. @default the agent or workflow of the chat */
  readonly workflow?: string
  /** What happens while a run is open. @default the `whenBusy` of the chat */
  readonly whenBusy?: WhenBusy
  /** Passed to the server's code, which must not trust it. @default the `data` of the chat */
  readonly data?: Json
}

/** Result of a send. Errors are in `error`, not thrown. */
export interface SendResult {
  /** Id of the user message. */
  readonly messageId: string
  /** Id of the run that answers the message. Undefined if the message was not sent. */
  readonly runId?: string
  /** Set if the message was not sent. */
  readonly error?: ChatError
}

/** Answer to a pending approval, client tool or interrupt. */
export type ChatAnswer =
  | { readonly kind: 'approval'; readonly id: string; readonly approved: boolean; readonly reason?: string }
  | { readonly kind: 'tool-result'; readonly id: string; readonly output: Json }
  | { readonly kind: 'tool-result'; readonly id: string; readonly error: string; readonly code?: string }
  | { readonly kind: 'interrupt'; readonly id: string; readonly response: Json }

/** `submitted`: a message is in flight. `streaming`: a run is open. `paused`: the run waits for an answer. `error`: the last operation failed. */
export type ChatStatus = 'ready' | 'submitted' | 'streaming' | 'paused' | 'error'

/** State of a chat without its messages. A new object after each change. */
export interface ChatState {
  /** Id of the session. Undefined before the first message of a new chat. */
  readonly sessionId: string | undefined
  /** Status of the chat. */
  readonly status: ChatStatus
  /** Id of the open run. */
  readonly runId: string | undefined
  /** The last error. Undefined once it no longer applies, a message is sent, or `clearError` is called. */
  readonly error: ChatError | undefined
  /** Status of the connection, and the reason for it in a sentence. */
  readonly connection: { readonly status: ConnectionStatus; readonly reason: string }
  /** Whether the session may have messages that are not loaded yet. */
  readonly isLoading: boolean
  /** Title of the session, if set. */
  readonly title: string | undefined
  /** Whether the server has messages older than those loaded. */
  readonly hasOlder: boolean
  /** Whether a request for older messages is in flight. */
  readonly isLoadingOlder: boolean
}

/** A conversation. Its messages are in `store`. */
export interface Chat {
  /** The messages. */
  readonly store: Store
  /** Status, error and connection. */
  readonly state: ChatState
  /** Callbacks, which may be replaced at any time. */
  callbacks: ChatCallbacks
  /** Client tools, which may be replaced at any time. */
  tools: ClientTools
  /** Calls the listener when `state` changes. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void
  /** Follows the session until the returned function is called. Without it, the chat follows only while its own runs are open. */
  start(): () => void
  /** Sends a message, and shows it at once. */
  sendMessage(input: ChatInput, options?: SendOptions): Promise<SendResult>
  /**
   * Stops a run, by default the open one, or else the messages in flight. The text so far stays. An interrupted run can be resumed, an
   * aborted one cannot. `mode` is `interrupt` by default.
   */
  stop(options?: { readonly runId?: string; readonly mode?: 'interrupt' | 'abort' }): Promise<void>
  /** Generates the reply to a message again, by the id of the message or of its reply. @default the last message */
  regenerate(messageId?: string): Promise<SendResult>
  /** Resends a message that failed, or else regenerates its reply. */
  retry(messageId?: string): Promise<SendResult>
  /** Replaces a message and everything after it. The result has the id of the new message. */
  edit(messageId: string, input: ChatInput): Promise<SendResult>
  /**
   * Answers a pending approval, client tool or interrupt.
   * @throws a `RequestError` if the server refuses it. `onError` gets it too.
   */
  answer(answer: ChatAnswer): Promise<void>
  /** Loads a page of older messages. */
  loadOlder(): Promise<void>
  /** Removes the error from `state`. */
  clearError(): void
}

/** Number of files, without consuming an iterable that can be read only once. */
const countOf = (files: Iterable<File> | undefined): number =>
  files ? ((files as { readonly length?: number }).length ?? Number.POSITIVE_INFINITY) : 0

/** Whether the input has no content. */
export const isEmpty = (input: ChatInput): boolean =>
  typeof input === 'string' ? input === '' : !input.text && !input.parts?.length && countOf(input.files) === 0

/** Error of a message without content. */
export const EMPTY_MESSAGE: ChatError = {
  code: 'message_empty',
  message: 'Expected text, parts or files, found an empty message.',
  source: 'send',
  recoverable: true,
  retryable: false,
}

const fieldsOf = (input: ChatInput): Exclude<ChatInput, string> => (typeof input === 'string' ? { text: input } : input)

/** Parts of the input without its files. */
export const partsOf = (input: ChatInput): readonly UserPart[] => {
  const { text, parts = [] } = fieldsOf(input)
  return text ? [{ type: 'text', text }, ...parts] : parts
}

/** Content of the input. Call it once: `files` may be an iterator. */
export const contentOf = (input: ChatInput) => {
  const { files = [], metadata } = fieldsOf(input)
  return { parts: partsOf(input), files: [...files], metadata }
}

/** Parts that show local files until they are uploaded. */
export const localFileParts = (files: readonly File[]): UserPart[] =>
  files.map(file => ({
    type: 'file',
    mediaType: file.type || 'application/octet-stream',
    url: URL.createObjectURL?.(file) ?? '',
    filename: file.name,
  }))
