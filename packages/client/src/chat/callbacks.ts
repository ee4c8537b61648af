import type { ChatError } from '../error/chat-error.ts'
import type { ChatDataOf, MessageOf, ToolPartOf } from '../types/index.ts'

/** How a run ended, or how following it did. */
export interface ChatFinish<A = unknown> {
  readonly runId?: string
  /** The agent's message, if there is one. */
  readonly message?: MessageOf<A>
  readonly messages: readonly MessageOf<A>[]
  /** It was stopped. */
  readonly isAbort: boolean
  /** The stream broke off for good: how the run ends is not known here. */
  readonly isDisconnect: boolean
  readonly isError: boolean
  readonly finishReason?: string
}

/** What a chat tells; none of them can harm it by throwing. `A` is `typeof app`, where the compiler is to know what a server says. */
export interface ChatCallbacks<A = unknown> {
  /** Data of the application, each time some comes. */
  onData?: ((data: ChatDataOf<A>) => void) | undefined
  /** A call, once each time it goes from one state to another. */
  onToolCall?: ((call: { readonly toolCall: ToolPartOf<A>; readonly messageId: string }) => void) | undefined
  /** Once for each run. */
  onFinish?: ((finish: ChatFinish<A>) => void) | undefined
  /** What went wrong; before `onFinish`, where both are told. */
  onError?: ((error: ChatError) => void) | undefined
}

/** Calls a callback; what it throws, or what its promise is rejected with, is printed and harms nobody. */
export function invokeCallback<T>(callback: ((value: T) => unknown) | undefined, value: T): void {
  const report = (error: unknown) => console.error('A callback of a chat failed:', error)
  try {
    Promise.resolve(callback?.(value)).catch(report)
  } catch (error) {
    report(error)
  }
}
