import type {
  AdapterChatOptions,
  AgentName,
  Chat,
  ChatCallbacks,
  ChatMessage,
  ChatOptions,
  Message,
  WorkflowName,
} from '@millrace/client'
import type { ReactNode } from 'react'

/** What makes no sense beside the rest. */
type Without<Names extends PropertyKey> = { readonly [Name in Names]?: undefined }

type HttpName = keyof ChatOptions
type AdapterName = keyof AdapterChatOptions

/** The parent keeps the messages, and is told what they should be. */
interface ControlledMessages<Given, Told> {
  readonly messages?: readonly Given[] | undefined
  /** Told of all messages whenever one of them is another. */
  readonly onMessagesChange?: ((messages: Told) => void) | undefined
}

type Answering<A> =
  | { readonly agent?: AgentName<A> | undefined; readonly workflow?: undefined }
  | { readonly workflow: WorkflowName<A>; readonly agent?: undefined }

/** A chat with a server. Its log is the truth: `messages` says what of it is shown. */
type ServerProps<A> = Omit<ChatOptions<A>, 'agent' | 'workflow'> &
  Answering<A> &
  ControlledMessages<Message, readonly Message[]> &
  Without<'chat' | Exclude<AdapterName, HttpName>>

/** A chat over an adapter. What the parent says in `messages` is the conversation. */
type AdapterProps<A> = Omit<AdapterChatOptions<unknown>, keyof ChatCallbacks> &
  ChatCallbacks<A> &
  ControlledMessages<ChatMessage, ChatMessage[]> &
  Without<'chat' | Exclude<HttpName, AdapterName>>

/** A chat that exists already: what it tells, what it runs and whom it asks is its owner's affair. */
type ChatProps = { readonly chat: Chat } & ControlledMessages<Message, readonly Message[]> &
  Without<HttpName | AdapterName>

/** `A` is `typeof app`, where the compiler is to know what the server has. */
export type ChatProviderProps<A = unknown> = (ServerProps<A> | AdapterProps<A> | ChatProps) & {
  readonly children?: ReactNode
}

/** Any of them. */
export interface ProviderOptions extends ChatOptions, Omit<Partial<AdapterChatOptions<unknown>>, 'adapter'> {
  readonly chat?: Chat | undefined
  readonly adapter?: AdapterChatOptions<unknown>['adapter'] | undefined
  readonly messages?: readonly (Message | ChatMessage)[] | undefined
  readonly onMessagesChange?: ((messages: readonly (Message | ChatMessage)[]) => void) | undefined
  readonly children?: ReactNode
}
