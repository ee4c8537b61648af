import type { Message } from '@millrace/protocol'
import type { Backoff } from '@millrace/protocol/retry'
import { type ChatCallbacks, type ChatFinish, invokeCallback } from '../chat/callbacks.ts'
import type { SendResult } from '../chat/chat.ts'
import type { ObservableState } from '../chat/observable-state.ts'
import { BACKOFF } from '../connection/api.ts'
import { type ChatError, type ErrorSource, failureOf } from '../error/chat-error.ts'
import type { Conversation } from './conversation.ts'
import { type Reply, requireString } from './reply.ts'
import { ReplyReader, withTimeout } from './reply-reader.ts'
import type { ChatAdapter, ChatMessageChunk, ChatStream } from './types.ts'

/** Nothing is under way. */
export const AT_HAND = { status: 'live', reason: 'the adapter is at hand' } as const
const UNDER_WAY = { status: 'live', reason: 'a reply is under way' } as const

/** One message and the reply to it. */
interface Turn {
  readonly runId: string
  readonly messageId: string
  readonly reading: ReplyReader
  reply?: Reply
  /** The id that the adapter gave the reply. */
  given?: string
  finishReason?: string
  isAborted: boolean
  /** It said itself that it failed. */
  isFailed?: true
  /** What a reply that broke off is to be told of as. */
  error?: ChatError
  /** What became of asking, as soon as it is known. */
  readonly asked: (result: SendResult) => void
}

/** What to ask the adapter for, and what to do where it refuses. */
export interface TurnRequest {
  readonly code: string
  readonly open: (signal: AbortSignal) => Promise<ChatStream>
  readonly refused: (error: ChatError) => void
}

export interface TurnsOptions {
  readonly adapter: Pick<ChatAdapter, 'reconnectToStream' | 'stop'>
  readonly conversationId: string | undefined
  readonly backoff: Backoff | undefined
  readonly conversation: Conversation
  readonly state: ObservableState
  readonly callbacks: () => ChatCallbacks
  /** A turn came to its end by itself. */
  readonly over: () => void
}

/**
 * The turns of a chat, one at a time. What the callbacks are told, and in which order: `onData` and `onToolCall` as things come, each once;
 * of a reply that broke off and could be had again, `onError` once, with `details.recovered`, as soon as it goes on; of one that
 * could not, `onError` and then `onFinish` with `isDisconnect`; and in every turn that began `onFinish` exactly once, at its end. A message
 * that could not be sent began no turn: of it there is only `onError`.
 */
export class Turns {
  readonly #options: TurnsOptions
  #turn: Turn | undefined

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  /** The run of the turn that is open. */
  get runId(): string | undefined {
    return this.#turn?.runId
  }

  /** What the turn that is open answers. */
  get messageId(): string | undefined {
    return this.#turn?.messageId
  }

  /** Asks for a reply, and reads it; resolves as soon as the adapter has answered or refused. */
  begin(messageId: string, runId: string, { code, open, refused }: TurnRequest): Promise<SendResult> {
    const { adapter, conversationId, backoff = BACKOFF } = this.#options
    return new Promise(asked => {
      const turn: Turn = {
        runId,
        messageId,
        asked,
        isAborted: false,
        reading: new ReplyReader({
          open,
          reconnect: adapter.reconnectToStream && (signal => this.#reconnect(turn, conversationId, signal)),
          backoff,
          opened: () => {
            this.#options.state.set({ connection: UNDER_WAY })
            asked({ messageId, runId })
          },
          take: chunk => this.#take(turn, chunk),
          broke: error => this.#broke(turn, error),
          resumed: () => turn.reply?.resume(),
          recovered: () => this.#recovered(turn),
        }),
      }
      this.#turn = turn
      this.#options.state.set({ status: 'submitted', runId, error: undefined })
      turn.reading.run().then(ending => {
        // One that was stopped has been told of.
        if (this.#turn !== turn) return
        if (ending.how === 'refused') {
          const error = this.#errorOf(ending.error, code, 'send', { messageId })
          refused(error)
          this.#over(error)
          asked({ messageId, error })
          invokeCallback(this.#options.callbacks().onError, error)
        } else this.#finish(turn, ending.how === 'broken')
        this.#options.over()
      })
    })
  }

  async #reconnect(turn: Turn, conversationId: string | undefined, signal: AbortSignal): Promise<ChatStream | null> {
    const messageId = turn.reply?.id
    const stream = await this.#options.adapter.reconnectToStream?.({ conversationId, messageId, signal })
    return stream ?? null
  }

  #take(turn: Turn, chunk: ChatMessageChunk): boolean {
    if (chunk.type === 'error') {
      turn.isFailed = true
      throw new Error(chunk.errorText ?? chunk.message ?? 'The reply failed.')
    }
    const isNew = (!turn.reply || chunk.type === 'start') && this.#open(turn, chunk)
    const { reply } = turn
    if (!reply || chunk.type === 'start') return isNew
    if (chunk.type === 'finish') {
      if (chunk.finishReason !== undefined) turn.finishReason = chunk.finishReason
      return true
    }
    if (chunk.type === 'abort') {
      turn.isAborted = true
      return true
    }
    const isNews = reply.write(chunk)
    if (chunk.type.startsWith('tool-')) this.look()
    return isNews || isNew
  }

  /** A reply begins, or goes on; true where there is another from now on. */
  #open(turn: Turn, chunk: ChatMessageChunk): boolean {
    const { messageId, author } = chunk as Extract<ChatMessageChunk, { type: 'start' }>
    const id = messageId ?? undefined
    if (id !== undefined) requireString(chunk, 'messageId')
    const { reply, given } = turn
    const isSame = reply && (id === undefined || id === given || reply.isUnnamed)
    if (!isSame) {
      // One message after another in one stream: the first is whole.
      if (reply) this.#end(reply, 'sent')
      turn.reply = this.#options.conversation.reply(id, turn.runId)
    } else if (id !== undefined && reply.isUnnamed) this.#options.conversation.rename(reply, id)
    if (id !== undefined) turn.given = id
    if (isSame) {
      if (author) reply.show({ author })
      return false
    }
    turn.reply?.begin(author)
    this.#options.conversation.mark(turn.messageId, 'sent')
    this.look()
    return true
  }

  /** Shows whether the reply streams, or waits for somebody. */
  look(): void {
    const { reply } = this.#turn ?? {}
    if (reply) this.#options.state.set({ status: reply.isWaiting ? 'paused' : 'streaming' })
  }

  #broke(turn: Turn, cause: unknown): void {
    const messageId = turn.reply?.id
    const error = this.#errorOf(cause, 'STREAM_ERROR', 'stream', messageId === undefined ? {} : { messageId })
    turn.error = error
    if (turn.reply) this.#options.conversation.mark(turn.reply.id, 'error', error)
    // The turn is open: it can be stopped, and what is said meanwhile waits.
    const offline = { status: 'offline', reason: error.message } as const
    this.#options.state.set({ error, ...(!turn.isFailed && { connection: offline }) })
  }

  #recovered(turn: Turn): void {
    const { error, reply } = turn
    if (!error) return
    delete turn.error
    if (reply) this.#options.conversation.mark(reply.id, 'streaming')
    this.#options.state.set({ error: undefined, connection: UNDER_WAY })
    invokeCallback(this.#options.callbacks().onError, {
      ...error,
      details: { ...(error.details as object), recovered: true },
    })
  }

  /** A reply came to its end, or broke off for good. */
  #finish(turn: Turn, isError: boolean): void {
    const { reply, finishReason, isAborted, error, messageId } = turn
    const isDisconnect = isError && !turn.isFailed
    if (reply) this.#end(reply, isError ? 'error' : isAborted ? 'cancelled' : 'sent', error, finishReason)
    if (isAborted) this.#options.conversation.mark(messageId, 'cancelled')
    // Where no reply began, nobody may have heard it.
    else if (!reply) this.#options.conversation.mark(messageId, 'error', error)
    this.#over(error, !isDisconnect)
    if (error) invokeCallback(this.#options.callbacks().onError, error)
    this.#told(turn, { isAbort: isAborted, isDisconnect, isError })
  }

  #end(reply: Reply, status: Message['status'], error?: ChatError, finishReason?: string): void {
    reply.end(status === 'sent', finishReason)
    this.#options.conversation.mark(reply.id, status, error)
  }

  /** No turn is open any more. */
  #over(error?: ChatError, isAtHand = false): void {
    this.#turn = undefined
    const connection = isAtHand && { connection: AT_HAND }
    this.#options.state.set({ status: error ? 'error' : 'ready', runId: undefined, error, ...connection })
  }

  #told({ runId, reply, finishReason }: Turn, how: Pick<ChatFinish, 'isAbort' | 'isDisconnect' | 'isError'>): void {
    const { messages } = this.#options.conversation
    const message = reply && messages.findLast(({ id }) => id === reply.id)
    const reason = finishReason !== undefined && { finishReason }
    invokeCallback(this.#options.callbacks().onFinish, {
      runId,
      ...(message && { message }),
      messages,
      ...how,
      ...reason,
    })
  }

  /** Stops the turn that is open, if one is: at once for who looks on, then for the adapter. */
  async halt(): Promise<void> {
    const turn = this.#turn
    if (turn) {
      const { reply, reading, messageId, runId, asked } = turn
      reading.stop()
      if (reply) this.#end(reply, 'cancelled')
      this.#options.conversation.mark(messageId, 'cancelled')
      this.#over(undefined, true)
      asked({ messageId, runId })
      this.#told(turn, { isAbort: true, isDisconnect: false, isError: false })
      try {
        await withTimeout(() => this.#options.adapter.stop?.())
      } catch (error) {
        this.report(error, 'STOP_ERROR', 'adapter', { messageId })
      }
    }
  }

  /** Shows what went wrong, and tells of it. */
  report(cause: unknown, code: string, source: ErrorSource, details?: object): void {
    const error = this.#errorOf(cause, code, source, details)
    this.#options.state.set({ error, ...(!this.#turn && { status: 'error' }) })
    invokeCallback(this.#options.callbacks().onError, error)
  }

  #errorOf(cause: unknown, code: string, source: ErrorSource, details?: object): ChatError {
    const { message, retryable, status } = failureOf(cause)
    const { code: why } = (cause ?? {}) as { readonly code?: unknown }
    const more = { ...details, ...(typeof why === 'string' && { cause: why }), ...(status !== undefined && { status }) }
    return { code, message, source, recoverable: true, retryable, details: more }
  }
}
