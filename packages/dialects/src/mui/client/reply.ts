// A reply as a stream for the runtime of MUI X Chat. The runtime keeps transient data, appends data that should replace, and cannot remove a part. When
// its message would differ, the realtime event `message-updated` corrects it, after the runtime has read the last chunk. A stream without a queue
// requests the next chunk only then.

import type { Chunk } from '@millrace/protocol'
import { RequestError } from '../../http/request-error.ts'
import { HIDDEN_EXTENSION, isExtension, type MuiEvent } from '../events/mui-event.ts'
import type { PositionedPart } from '../messages/chat-messages.ts'
import type { ChatRealtimeEvent, ChatReplyChunk } from '../types.ts'
import { FoldedReply } from './folded-reply.ts'
import { type PositionedEvent, ReplyStream, type ReplyStreamOptions } from './reply-stream.ts'

export interface ReplyOptions extends Omit<ReplyStreamOptions, 'signal' | 'status'> {
  /** Aborted when the reply is not read any more. The first connection uses its signal, too. */
  readonly aborter: AbortController
  /** Emits an event to the runtime, if it is subscribed. */
  readonly onEvent: () => ((event: ChatRealtimeEvent) => void) | undefined
}

/** The runtime flushes text by a timer. Longest time between two macrotasks, in ms. */
const MAX_TASK_MS = 8

/** An unknown type: the runtime flushes its text and ignores the chunk. */
const FLUSH = { type: HIDDEN_EXTENSION } as unknown as ChatReplyChunk

export class Reply {
  readonly sessionId: string
  readonly runId: string
  readonly stream: ReadableStream<ChatReplyChunk>
  readonly #folded: FoldedReply
  readonly #replyStream: ReplyStream
  readonly #aborter: AbortController
  readonly #onEvent: ReplyOptions['onEvent']
  #isStarted = false
  /** Number of discards. Later parts get new ids, since the runtime remembers the position of the old ones. */
  #generation = 0
  readonly #ids = new Map<string, string>()
  /** Keys of the parts in the order of the runtime. */
  #order: string[] = []
  readonly #dataIds = new Set<string>()

  constructor({ onEvent, aborter, ...options }: ReplyOptions) {
    this.sessionId = options.sessionId
    this.runId = options.runId
    this.#onEvent = onEvent
    this.#aborter = aborter
    this.#folded = new FoldedReply(options.runId)
    this.#replyStream = new ReplyStream({ ...options, signal: this.#aborter.signal, status: () => this.#folded.status })
    this.stream = streamOf(this.#chunks(), () => this.close())
  }

  get messageId(): string {
    return this.#folded.messageId
  }

  get isOver(): boolean {
    const { status } = this.#folded
    return status !== undefined && status !== 'paused'
  }

  /** The approval id of a call. */
  approvalOf(toolCallId: string): string | undefined {
    return this.#folded.approvalOf(toolCallId)
  }

  /** Stops reading. The run continues. */
  close(): void {
    this.#aborter.abort()
  }

  /** The chunks for the runtime. */
  async *#chunks(): AsyncGenerator<ChatReplyChunk, void, undefined> {
    try {
      for await (const events of this.#replyStream.events())
        for (const positioned of events) yield* this.#emit(positioned)
    } catch (error) {
      // The runtime takes a stream that closes without an end for a disconnect, and one that fails for an error (law 7).
      if (error instanceof RequestError && error.retryable) return
      throw error
    }
    yield* this.#end()
  }

  *#emit({ event, sequence }: PositionedEvent): Generator<ChatReplyChunk, void, undefined> {
    const chunk = this.#folded.apply(event, sequence)
    if (chunk?.type === 'step-discarded') yield* this.#afterDiscard()
    else if (chunk && isTransient(chunk)) yield* this.#emitTransient(chunk as ChatReplyChunk)
    else if (chunk?.type === 'tool-approval-response') yield* this.#emitCorrected(FLUSH)
    else if (isSilent(event)) return
    else if (event.type === 'start') yield* this.#start()
    else if (event.type === 'message-metadata' || this.#isRepeated(event)) yield* this.#emitCorrected(plain(event))
    else yield this.#withCurrentId(plain(event))
  }

  *#start(): Generator<ChatReplyChunk, void, undefined> {
    if (this.#isStarted) return
    this.#isStarted = true
    yield { type: 'start', messageId: this.messageId }
  }

  /** Ends the stream after a last correction. */
  *#end(): Generator<ChatReplyChunk, void, undefined> {
    yield* this.#start()
    if (this.#onEvent()) {
      yield FLUSH
      this.#update(this.#folded.parts)
    }
    const { status, messageId, error } = this.#folded
    if (status === 'failed') throw new Error(error)
    const { finishReason } = this.#folded.message ?? {}
    if (status === 'completed') yield { type: 'finish', messageId, ...(finishReason && { finishReason }) }
    else yield { type: 'abort', messageId }
  }

  /** Transient data is for `onData`. The runtime keeps it, so it is only sent if it can be removed again. */
  *#emitTransient(chunk: ChatReplyChunk): Generator<ChatReplyChunk, void, undefined> {
    if (this.#onEvent()) yield* this.#emitCorrected(chunk)
  }

  /** Emits a chunk and corrects the message after it. */
  *#emitCorrected(chunk: ChatReplyChunk): Generator<ChatReplyChunk, void, undefined> {
    yield chunk
    this.#update(this.#parts())
  }

  /** After a discard: emits the remaining parts, and starts open texts again. */
  *#afterDiscard(): Generator<ChatReplyChunk, void, undefined> {
    if (!this.#onEvent() || !this.#isStarted) return
    yield FLUSH
    this.#generation++
    this.#ids.clear()
    const parts = this.#parts()
    const open = parts.filter(part => part.open)
    const rest = parts.filter(part => !part.open)
    this.#order = [...rest, ...open].map(({ key }) => key)
    this.#update(rest)
    for (const { open: text, part } of open) {
      const { type, id } = text as NonNullable<PositionedPart['open']>
      const partText = (part as { readonly text: string }).text
      yield this.#withCurrentId({ type: `${type}-start`, id } as ChatReplyChunk)
      if (partText) yield this.#withCurrentId({ type: `${type}-delta`, id, delta: partText } as ChatReplyChunk)
    }
  }

  /** The parts in the order of the runtime. */
  #parts(): PositionedPart[] {
    const byKey = new Map(this.#folded.parts.map(part => [part.key, part]))
    const orderedKeys = new Set(this.#order)
    this.#order = [
      ...this.#order.filter(key => byKey.has(key)),
      ...[...byKey.keys()].filter(key => !orderedKeys.has(key)),
    ]
    return this.#order.map(key => byKey.get(key) as PositionedPart)
  }

  #update(parts: readonly PositionedPart[]): void {
    const { metadata } = this.#folded.message ?? {}
    const message = { id: this.messageId, role: 'assistant', parts: parts.map(({ part }) => part), metadata } as const
    this.#onEvent()?.({ type: 'message-updated', message })
  }

  #isRepeated(event: MuiEvent): boolean {
    const { type, id } = event as { readonly type: string; readonly id?: string }
    if (id === undefined || !type.startsWith('data-')) return false
    const name = `${type} ${id}`
    const isRepeated = this.#dataIds.has(name)
    this.#dataIds.add(name)
    return isRepeated
  }

  /** A chunk with the id of its part in this generation. */
  #withCurrentId(chunk: ChatReplyChunk): ChatReplyChunk {
    if (this.#generation === 0 || !/^(text|reasoning)-/.test(chunk.type)) return chunk
    const { type, id } = chunk as { readonly type: string; readonly id: string }
    const name = `${type.split('-', 1)[0]} ${id}`
    const newId = this.#ids.get(name) ?? `${id}~${this.#generation}`
    this.#ids.set(name, newId)
    return { ...chunk, id: newId } as ChatReplyChunk
  }
}

const isTransient = (chunk: Chunk): boolean =>
  chunk.type.startsWith('data-') && (chunk as { readonly transient?: boolean }).transient === true

/** Whether an event is hidden from the runtime. The end is sent separately, and input deltas have no effect. */
const isSilent = (event: MuiEvent): boolean =>
  (isExtension(event) && event.type === HIDDEN_EXTENSION) || /^(finish|abort|error|tool-input-delta)$/.test(event.type)

/** A chunk without supplement and origin. */
function plain({ millrace, origin, ...chunk }: MuiEvent): ChatReplyChunk {
  return chunk as unknown as ChatReplyChunk
}

/** A stream without a queue: reads the next value only on demand. */
function streamOf<T>(values: AsyncGenerator<T, void, undefined>, close: () => void): ReadableStream<T> {
  let taskStart = performance.now()
  return new ReadableStream<T>(
    {
      async pull(controller) {
        if (performance.now() - taskStart > MAX_TASK_MS) {
          await new Promise(resolve => setTimeout(resolve))
          taskStart = performance.now()
        }
        const { done, value } = await values.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  )
}
