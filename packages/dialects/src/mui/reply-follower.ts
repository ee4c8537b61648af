import { FoldedReply } from './folded-reply.ts'
import { ReplyStream, type ReplyStreamOptions } from './reply-stream.ts'
import type { ChatMessage, ChatRealtimeEvent } from './types.ts'

export interface ReplyFollowerOptions extends Omit<ReplyStreamOptions, 'signal' | 'status'> {
  readonly tell: (event: ChatRealtimeEvent) => void
  /** Whether nothing is told but how it ended. */
  readonly onlyEnd?: boolean
}

/** Follows a reply that the runtime does not read, since it began before the page was there or in another tab, and tells it as it grows. */
export class ReplyFollower {
  readonly sessionId: string
  readonly runId: string
  readonly #left = new AbortController()
  readonly #mirror: FoldedReply

  constructor({ tell, ...options }: ReplyFollowerOptions) {
    this.sessionId = options.sessionId
    this.runId = options.runId
    this.#mirror = new FoldedReply(options.runId)
    void this.#run(tell, options)
  }

  /** The id of the approval of a call. */
  approvalOf(toolCallId: string): string | undefined {
    return this.#mirror.approvalOf(toolCallId)
  }

  leave(): void {
    this.#left.abort()
  }

  async #run(tell: ReplyFollowerOptions['tell'], options: Omit<ReplyFollowerOptions, 'tell'>): Promise<void> {
    const mirror = this.#mirror
    const { signal } = this.#left
    const { onlyEnd = false } = options
    const line = new ReplyStream({ ...options, signal, status: () => mirror.status })
    const told = (status: Pick<ChatMessage, 'status'> = {}) => {
      const message = mirror.chatMessage
      if (message && !signal.aborted) tell({ type: 'message-updated', message: { ...message, ...status } })
    }
    try {
      for await (const piece of line.pieces()) {
        for (const { event, sequence } of piece) mirror.take(event, sequence)
        if (!onlyEnd) told()
      }
      if (onlyEnd) told()
    } catch {
      // Nobody asked for it: what came is there, and that it does not go on shows.
      if (!onlyEnd) told({ status: 'error' })
    }
  }
}
