import type { ChatError } from '../error/chat-error.ts'
import type { ChatDataOf, MessageOf, ToolPartOf } from '../types/index.ts'

/** Argument of `onFinish`: the outcome of a run, or of the connection that followed it. */
export interface ChatFinish<A = unknown> {
  /** Id of the run, if there is one. */
  readonly runId?: string
  /** Message of the agent, if it wrote one. */
  readonly message?: MessageOf<A>
  /** All messages of the chat, in order. */
  readonly messages: readonly MessageOf<A>[]
  /** Whether the run was stopped. */
  readonly isAbort: boolean
  /** Whether the stream was lost for good, so that the outcome of the run is unknown. */
  readonly isDisconnect: boolean
  /** Whether the run failed, or its stream was lost. */
  readonly isError: boolean
  /** Why the model stopped, if the run has a message of the agent. */
  readonly finishReason?: string
}

/** Callbacks of a chat. Their errors are logged. `A` is `typeof app` and types the arguments. */
export interface ChatCallbacks<A = unknown> {
  /** Called for each data chunk of the application. @default none */
  onData?: ((data: ChatDataOf<A>) => void) | undefined
  /** Called for each state transition of a tool call. @default none */
  onToolCall?: ((call: { readonly toolCall: ToolPartOf<A>; readonly messageId: string }) => void) | undefined
  /** Called once per run. @default none */
  onFinish?: ((finish: ChatFinish<A>) => void) | undefined
  /** Called for each error, before the `onFinish` of the same failure. @default none */
  onError?: ((error: ChatError) => void) | undefined
}

/** Calls a callback, and logs what it throws or rejects with. */
export function invokeCallback<T>(callback: ((value: T) => unknown) | undefined, value: T): void {
  const report = (error: unknown) => console.error('A chat callback failed:', error)
  try {
    Promise.resolve(callback?.(value)).catch(report)
  } catch (error) {
    report(error)
  }
}
