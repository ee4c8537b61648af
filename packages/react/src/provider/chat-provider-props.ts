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

/** Excludes props that cannot be combined. */
type Without<Names extends PropertyKey> = { readonly [Name in Names]?: undefined }

type HttpName = keyof ChatOptions
type AdapterName = keyof AdapterChatOptions

/** Controlled messages: the parent keeps them and gets every change. */
interface ControlledMessages<Input, Output> {
  /** The messages to show. @default those of the chat */
  readonly messages?: readonly Input[] | undefined
  /** Called with all messages when one of them changes. */
  readonly onMessagesChange?: ((messages: Output) => void) | undefined
}

type ProgramProps<A> =
  | { readonly agent?: AgentName<A> | undefined; readonly workflow?: undefined }
  | { readonly workflow: WorkflowName<A>; readonly agent?: undefined }

/** A chat with a server. The log of the server is authoritative: `messages` only selects what is shown. */
type ServerProps<A> = Omit<ChatOptions<A>, 'agent' | 'workflow'> &
  ProgramProps<A> &
  ControlledMessages<Message, readonly Message[]> &
  Without<'chat' | Exclude<AdapterName, HttpName>>

/** A chat over an adapter. The `messages` of the parent are the conversation. */
type AdapterProps<A> = Omit<AdapterChatOptions<unknown>, keyof ChatCallbacks> &
  ChatCallbacks<A> &
  ControlledMessages<ChatMessage, ChatMessage[]> &
  Without<'chat' | Exclude<HttpName, AdapterName>>

/** An existing chat. Its owner handles its callbacks, tools and requests. */
type ChatProps = { readonly chat: Chat } & ControlledMessages<Message, readonly Message[]> &
  Without<HttpName | AdapterName>

/**
 * Props of `ChatProvider`. A chat over a server has those of {@link ChatOptions}, a chat over an adapter those of
 * {@link AdapterChatOptions}, and an existing chat is given as `chat`. Each may have `messages` and `onMessagesChange`.
 * `A` is `typeof app`, for the types of its agents, workflows and tools.
 */
export type ChatProviderProps<A = unknown> = (ServerProps<A> | AdapterProps<A> | ChatProps) & {
  readonly children?: ReactNode
}

/** All props, without the exclusions. */
export interface ProviderOptions extends ChatOptions, Omit<Partial<AdapterChatOptions<unknown>>, 'adapter'> {
  readonly chat?: Chat | undefined
  readonly adapter?: AdapterChatOptions<unknown>['adapter'] | undefined
  readonly messages?: readonly (Message | ChatMessage)[] | undefined
  readonly onMessagesChange?: ((messages: readonly (Message | ChatMessage)[]) => void) | undefined
  readonly children?: ReactNode
}
