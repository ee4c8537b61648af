import type { ChatMessage, ChatRealtimeEvent } from '../types.ts'
import { FoldedReply } from './folded-reply.ts'
import { ReplyStream, type ReplyStreamOptions } from './reply-stream.ts'

export interface ReplyFollowerOptions extends Omit<ReplyStreamOptions, 'signal' | 'status'> {
  readonly onEvent: (event: ChatRealtimeEvent) => void
  /** Whether only the end of the reply is emitted. @default false */
  readonly onlyEnd?: boolean
}

/** Follows a reply that the runtime does not read, because it started before the page was loaded or in another tab. Emits the message as it grows. */
export class ReplyFollower {
  readonly sessionId: string
  readonly runId: string
  readonly #aborter = new AbortController()
  readonly #reply: FoldedReply

  constructor({ onEvent, ...options }: ReplyFollowerOptions) {
    this.sessionId = options.sessionId
    this.runId = options.runId
    this.#reply = new FoldedReply(options.runId)
    void this.#run(onEvent, options)
  }

  /** The approval id of a call. */
  approvalOf(toolCallId: string): string | undefined {
    return this.#reply.approvalOf(toolCallId)
  }

  close(): void {
    this.#aborter.abort()
  }

  async #run(onEvent: ReplyFollowerOptions['onEvent'], options: Omit<ReplyFollowerOptions, 'onEvent'>): Promise<void> {
    const reply = this.#reply
    const { signal } = this.#aborter
    const { onlyEnd = false } = options
    const replyStream = new ReplyStream({ ...options, signal, status: () => reply.status })
    const emitMessage = (status: Pick<ChatMessage, 'status'> = {}) => {
      const message = reply.chatMessage
      if (message && !signal.aborted) onEvent({ type: 'message-updated', message: { ...message, ...status } })
    }
    try {
      for await (const events of replyStream.events()) {
        for (const { event, sequence } of events) reply.apply(event, sequence)
        if (!onlyEnd) emitMessage()
      }
      if (onlyEnd) emitMessage()
    } catch {
      // The runtime did not request this reply: the message shows the error.
      if (!onlyEnd) emitMessage({ status: 'error' })
    }
  }
}
