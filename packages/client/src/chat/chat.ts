import type { ConnectionStatus, Json, MessageChunk } from '@millrace/protocol'
import type { ChatError } from '../error/chat-error.ts'
import type { Store } from '../store/store.ts'
import type { ClientTools } from '../types/index.ts'
import type { ChatCallbacks } from './callbacks.ts'

/** A part of a user message. */
export type UserPart = MessageChunk['parts'][number]

/** What a person says: text, or parts and files. */
export type ChatInput =
  | string
  | {
      readonly text?: string
      readonly parts?: readonly UserPart[]
      readonly files?: Iterable<File>
      readonly metadata?: NonNullable<MessageChunk['metadata']>
    }

/** What becomes of a message while a run is open. */
export type WhenBusy = 'queue' | 'reject' | 'interrupt-previous'

export interface SendOptions {
  readonly messageId?: string
  /** Who answers this one, in place of the chat's own agent or workflow. */
  readonly agent?: string
  readonly workflow?: string
  readonly whenBusy?: WhenBusy
  /** For the server's code; untrusted there. */
  readonly data?: Json
}

/** What became of what was sent: nothing is thrown. */
export interface SendResult {
  readonly messageId: string
  readonly runId?: string
  readonly error?: ChatError
}

/** An answer to what a run waits for. */
export type ChatAnswer =
  | { readonly kind: 'approval'; readonly id: string; readonly approved: boolean; readonly reason?: string }
  | { readonly kind: 'tool-result'; readonly id: string; readonly output: Json }
  | { readonly kind: 'tool-result'; readonly id: string; readonly error: string; readonly code?: string }
  | { readonly kind: 'interrupt'; readonly id: string; readonly response: Json }

/** `ready` for the next message; `submitted`, on its way; `streaming`; `paused`, it waits for somebody; `error`, the last thing went wrong. */
export type ChatStatus = 'ready' | 'submitted' | 'streaming' | 'paused' | 'error'

/** How a chat stands, beside its messages: a new object each time something of it changes. */
export interface ChatState {
  readonly sessionId: string | undefined
  readonly status: ChatStatus
  /** The run that is open. */
  readonly runId: string | undefined
  readonly error: ChatError | undefined
  readonly connection: { readonly status: ConnectionStatus; readonly reason: string }
  /** Whether what there is has not been read yet. */
  readonly isLoading: boolean
  readonly title: string | undefined
  /** Whether there are messages before those that are shown. */
  readonly hasOlder: boolean
  readonly isLoadingOlder: boolean
}

/** A conversation: what is shown of it is in its store. */
export interface Chat {
  readonly store: Store
  readonly state: ChatState
  /** What it tells, and what it runs; both may be replaced at any time. */
  callbacks: ChatCallbacks
  tools: ClientTools
  /** Calls when its state has changed, until the returned function is called. */
  subscribe(listener: () => void): () => void
  /** Begins to follow, until the returned function is called; may be called again then. Without it, what is sent is followed until it is done. */
  start(): () => void
  /** Says something; it is shown at once. */
  sendMessage(input: ChatInput, options?: SendOptions): Promise<SendResult>
  /** Stops the open run, wherever it is driven, or all that is on its way; what it said so far stays. */
  stop(options?: { readonly runId?: string; readonly mode?: 'interrupt' | 'abort' }): Promise<void>
  /** Answers a message anew: that of an agent's or a person's id, the last if none is named. */
  regenerate(messageId?: string): Promise<SendResult>
  /** Sends again what could not be sent, or does the turn of a message again. */
  retry(messageId?: string): Promise<SendResult>
  /** Puts another message in the place of one, and of all that came of it; the result has its id. */
  edit(messageId: string, input: ChatInput): Promise<SendResult>
  /** Answers what a run waits for: an approval, a client's tool, a question. Throws what it is refused with, and tells it. */
  answer(answer: ChatAnswer): Promise<void>
  /** Shows older messages. */
  loadOlder(): Promise<void>
  /** Forgets the last error. */
  clearError(): void
}

/** How many files there are, as far as that can be told without taking them: some can be taken but once. */
const countOf = (files: Iterable<File> | undefined): number =>
  files ? ((files as { readonly length?: number }).length ?? Number.POSITIVE_INFINITY) : 0

/** Whether nothing is said at all. */
export const isEmpty = (input: ChatInput): boolean =>
  typeof input === 'string' ? input === '' : !input.text && !input.parts?.length && countOf(input.files) === 0

/** What becomes of nothing: it is not sent. */
export const EMPTY: ChatError = {
  code: 'message_empty',
  message: 'There is nothing to send.',
  source: 'send',
  recoverable: true,
  retryable: false,
}

const fieldsOf = (input: ChatInput): Exclude<ChatInput, string> => (typeof input === 'string' ? { text: input } : input)

/** The parts of what a person says, but for files. */
export const partsOf = (input: ChatInput): readonly UserPart[] => {
  const { text, parts = [] } = fieldsOf(input)
  return text ? [{ type: 'text', text }, ...parts] : parts
}

/** What a person says, read once: what gives files may give them only once. */
export const contentOf = (input: ChatInput) => {
  const { files = [], metadata } = fieldsOf(input)
  return { parts: partsOf(input), files: [...files], metadata }
}

/** Files as they are shown until the server has them. */
export const filesShown = (files: readonly File[]): UserPart[] =>
  files.map(file => ({
    type: 'file',
    mediaType: file.type || 'application/octet-stream',
    url: URL.createObjectURL?.(file) ?? '',
    filename: file.name,
  }))
