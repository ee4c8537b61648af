import type { Message } from '@millrace/protocol'
import type { Backoff } from '@millrace/protocol/retry'
import { type ChatCallbacks, type ChatFinish, invokeCallback } from '../chat/callbacks.ts'
import type { SendResult } from '../chat/chat.ts'
import type { ObservableState } from '../chat/observable-state.ts'
import { type ChatError, type ErrorSource, failureOf } from '../error/chat-error.ts'
import type { Conversation } from './conversation.ts'
import { type Reply, requireString } from './reply.ts'
import { ReplyReader, withTimeout } from './reply-reader.ts'
import type { ChatAdapter, ChatMessageChunk, ChatStream } from './types.ts'

/** Connection of a chat without an open turn. */
export const IDLE_CONNECTION = { status: 'live', reason: 'the adapter is ready' } as const
const BUSY_CONNECTION = { status: 'live', reason: 'a reply is in progress' } as const

/** A message and the reply to it. */
interface Turn {
  readonly runId: string
  readonly messageId: string
  readonly reader: ReplyReader
  reply?: Reply
  /** The adapter's id of the reply. */
  adapterId?: string
  finishReason?: string
  isAborted: boolean
  /** Set if the adapter sent an `error` chunk. */
  isFailed?: true
  /** The error to report if the reply is lost. */
  error?: ChatError
  /** Resolves the promise of `sendMessage`. */
  readonly resolve: (result: SendResult) => void
}

/** How to ask the adapter, and what to undo if it refuses. */
export interface TurnRequest {
  /** Code of the error if it refuses. */
  readonly code: string
  readonly open: (signal: AbortSignal) => Promise<ChatStream>
  readonly onRefused: (error: ChatError) => void
}

export interface TurnsOptions {
  readonly adapter: Pick<ChatAdapter, 'reconnectToStream' | 'stop'>
  readonly conversationId: string | undefined
  readonly backoff: Backoff | undefined
  readonly conversation: Conversation
  readonly state: ObservableState
  readonly callbacks: () => ChatCallbacks
  /** Called when a turn ends without `stop`. */
  readonly onEnd: () => void
}

/**
 * The turns of a chat, one at a time. Callbacks: `onData` and `onToolCall` once for each chunk and change of state, in order. A reply that dropped and was resumed
 * calls `onError` once more, with `details.recovered`, at the first new chunk. A reply that is lost calls `onError`, then `onFinish` with `isDisconnect`. Every turn that
 * began calls `onFinish` exactly once. A message that could not be sent began no turn: it only calls `onError`.
 */
export class Turns {
  readonly #options: TurnsOptions
  #turn: Turn | undefined

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  /** The run of the open turn. */
  get runId(): string | undefined {
    return this.#turn?.runId
  }

  /** The user message of the open turn. */
  get messageId(): string | undefined {
    return this.#turn?.messageId
  }

  /** Asks for a reply, and reads it. Resolves as soon as the adapter has opened a stream or refused. */
  begin(messageId: string, runId: string, { code, open, onRefused }: TurnRequest): Promise<SendResult> {
    const { adapter, conversationId, backoff } = this.#options
    return new Promise(resolve => {
      const turn: Turn = {
        runId,
        messageId,
        resolve,
        isAborted: false,
        reader: new ReplyReader({
          open,
          reconnect: adapter.reconnectToStream && (signal => this.#reconnect(turn, conversationId, signal)),
          backoff,
          onOpen: () => {
            this.#options.state.set({ connection: BUSY_CONNECTION })
            resolve({ messageId, runId })
          },
          onChunk: chunk => this.#onChunk(turn, chunk),
          onDrop: error => this.#onDrop(turn, error),
          onResume: () => turn.reply?.resume(),
          onRecover: () => this.#onRecover(turn),
        }),
      }
      this.#turn = turn
      this.#options.state.set({ status: 'submitted', runId, error: undefined })
      turn.reader.run().then(ending => {
        // `stop` has reported the end.
        if (this.#turn !== turn) return
        if (ending.outcome === 'refused') {
          const error = this.#errorOf(ending.error, code, 'send', { messageId })
          onRefused(error)
          this.#close(error)
          resolve({ messageId, error })
          invokeCallback(this.#options.callbacks().onError, error)
        } else this.#finish(turn, ending.outcome === 'lost')
        this.#options.onEnd()
      })
    })
  }

  async #reconnect(turn: Turn, conversationId: string | undefined, signal: AbortSignal): Promise<ChatStream | null> {
    const messageId = turn.reply?.id
    const stream = await this.#options.adapter.reconnectToStream?.({ conversationId, messageId, signal })
    return stream ?? null
  }

  #onChunk(turn: Turn, chunk: ChatMessageChunk): boolean {
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
    const isNewContent = reply.write(chunk)
    if (chunk.type.startsWith('tool-')) this.updateStatus()
    return isNewContent || isNew
  }

  /** Begins or continues a reply. Returns whether it is another reply than before. */
  #open(turn: Turn, chunk: ChatMessageChunk): boolean {
    const { messageId, author } = chunk as Extract<ChatMessageChunk, { type: 'start' }>
    const id = messageId ?? undefined
    if (id !== undefined) requireString(chunk, 'messageId')
    const { reply, adapterId } = turn
    const isSame = reply && (id === undefined || id === adapterId || reply.hasGeneratedId)
    if (!isSame) {
      // A stream may have several messages. The next one ends the one before.
      if (reply) this.#end(reply, 'sent')
      turn.reply = this.#options.conversation.reply(id, turn.runId)
    } else if (id !== undefined && reply.hasGeneratedId) this.#options.conversation.rename(reply, id)
    if (id !== undefined) turn.adapterId = id
    if (isSame) {
      if (author) reply.patch({ author })
      return false
    }
    turn.reply?.begin(author)
    this.#options.conversation.mark(turn.messageId, 'sent')
    this.updateStatus()
    return true
  }

  /** Sets the status of the chat: `paused` while a call waits for approval. */
  updateStatus(): void {
    const { reply } = this.#turn ?? {}
    if (reply) this.#options.state.set({ status: reply.isWaiting ? 'paused' : 'streaming' })
  }

  #onDrop(turn: Turn, cause: unknown): void {
    const messageId = turn.reply?.id
    const error = this.#errorOf(cause, 'STREAM_ERROR', 'stream', messageId === undefined ? {} : { messageId })
    turn.error = error
    if (turn.reply) this.#options.conversation.mark(turn.reply.id, 'error', error)
    // The turn stays open: it can be stopped, and new messages are queued.
    const offline = { status: 'offline', reason: error.message } as const
    this.#options.state.set({ error, ...(!turn.isFailed && { connection: offline }) })
  }

  #onRecover(turn: Turn): void {
    const { error, reply } = turn
    if (!error) return
    delete turn.error
    if (reply) this.#options.conversation.mark(reply.id, 'streaming')
    this.#options.state.set({ error: undefined, connection: BUSY_CONNECTION })
    invokeCallback(this.#options.callbacks().onError, {
      ...error,
      details: { ...(error.details as object), recovered: true },
    })
  }

  /** Ends a turn after the end or loss of its reply. */
  #finish(turn: Turn, isError: boolean): void {
    const { reply, finishReason, isAborted, error, messageId } = turn
    const isDisconnect = isError && !turn.isFailed
    if (reply) this.#end(reply, isError ? 'error' : isAborted ? 'cancelled' : 'sent', error, finishReason)
    if (isAborted) this.#options.conversation.mark(messageId, 'cancelled')
    // Without a reply, the message may not have arrived.
    else if (!reply) this.#options.conversation.mark(messageId, 'error', error)
    this.#close(error, !isDisconnect)
    if (error) invokeCallback(this.#options.callbacks().onError, error)
    this.#callOnFinish(turn, { isAbort: isAborted, isDisconnect, isError })
  }

  #end(reply: Reply, status: Message['status'], error?: ChatError, finishReason?: string): void {
    reply.end(status === 'sent', finishReason)
    this.#options.conversation.mark(reply.id, status, error)
  }

  /** Closes the open turn. */
  #close(error?: ChatError, isConnected = false): void {
    this.#turn = undefined
    const connection = isConnected && { connection: IDLE_CONNECTION }
    this.#options.state.set({ status: error ? 'error' : 'ready', runId: undefined, error, ...connection })
  }

  #callOnFinish(
    { runId, reply, finishReason }: Turn,
    flags: Pick<ChatFinish, 'isAbort' | 'isDisconnect' | 'isError'>,
  ): void {
    const { messages } = this.#options.conversation
    const message = reply && messages.findLast(({ id }) => id === reply.id)
    const reason = finishReason !== undefined && { finishReason }
    invokeCallback(this.#options.callbacks().onFinish, {
      runId,
      ...(message && { message }),
      messages,
      ...flags,
      ...reason,
    })
  }

  /** Stops the open turn, if there is one: in the view at once, then with the adapter. */
  async stop(): Promise<void> {
    const turn = this.#turn
    if (turn) {
      const { reply, reader, messageId, runId, resolve } = turn
      reader.stop()
      if (reply) this.#end(reply, 'cancelled')
      this.#options.conversation.mark(messageId, 'cancelled')
      this.#close(undefined, true)
      resolve({ messageId, runId })
      this.#callOnFinish(turn, { isAbort: true, isDisconnect: false, isError: false })
      try {
        await withTimeout(() => this.#options.adapter.stop?.())
      } catch (error) {
        this.report(error, 'STOP_ERROR', 'adapter', { messageId })
      }
    }
  }

  /** Sets the chat's error, and calls `onError`. */
  report(cause: unknown, code: string, source: ErrorSource, details?: object): void {
    const error = this.#errorOf(cause, code, source, details)
    this.#options.state.set({ error, ...(!this.#turn && { status: 'error' }) })
    invokeCallback(this.#options.callbacks().onError, error)
  }

  #errorOf(cause: unknown, code: string, source: ErrorSource, details?: object): ChatError {
    const { message, retryable, status } = failureOf(cause)
    const { code: causeCode } = (cause ?? {}) as { readonly code?: unknown }
    const isCoded = typeof causeCode === 'string'
    const allDetails = { ...details, ...(isCoded && { cause: causeCode }), ...(status !== undefined && { status }) }
    return { code, message, source, recoverable: true, retryable, details: allDetails }
  }
}
