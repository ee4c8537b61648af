// One reply, as a stream that MUI X Chat's runtime reads. The runtime goes by its own rules: it keeps what is transient, appends data that should replace, and cannot take back
// a part. So what it made of the chunks is put right by the realtime event `message-updated`, whenever that differs, when it has taken the last of them: a stream without a
// queue is asked for the next chunk only then.

import type { Chunk } from '@millrace/protocol'
import { RequestError } from '../http/request-error.ts'
import type { PlacedPart } from './chat-message.ts'
import { isExtension, type MuiEvent, PASSED } from './chunk.ts'
import { FoldedReply } from './folded-reply.ts'
import { type PlacedEvent, ReplyStream, type ReplyStreamOptions } from './reply-stream.ts'
import type { ChatRealtimeEvent, ChatReplyChunk } from './types.ts'

export interface ReplyOptions extends Omit<ReplyStreamOptions, 'signal' | 'status'> {
  /** Aborted when nobody reads it any more; the first connection goes by it too. */
  readonly left: AbortController
  /** Tells the runtime, where it listens. */
  readonly tell: () => ((event: ChatRealtimeEvent) => void) | undefined
}

/** The runtime flushes its texts by a timer, which must get its turn where everything is there at once. */
const TURN_MS = 8

/** Makes the runtime flush its texts, and nothing else. */
const FLUSH = { type: PASSED } as unknown as ChatReplyChunk

export class Reply {
  readonly sessionId: string
  readonly runId: string
  readonly stream: ReadableStream<ChatReplyChunk>
  readonly #mirror: FoldedReply
  readonly #line: ReplyStream
  readonly #left: AbortController
  readonly #tell: ReplyOptions['tell']
  #isStarted = false
  /** How often something was taken back: what is opened from then on goes by other ids, since the runtime remembers where the old ones were. */
  #generation = 0
  readonly #ids = new Map<string, string>()
  /** The parts in the order in which the runtime has them. */
  #order: string[] = []
  readonly #dataIds = new Set<string>()

  constructor({ tell, left, ...options }: ReplyOptions) {
    this.sessionId = options.sessionId
    this.runId = options.runId
    this.#tell = tell
    this.#left = left
    this.#mirror = new FoldedReply(options.runId)
    this.#line = new ReplyStream({ ...options, signal: this.#left.signal, status: () => this.#mirror.status })
    this.stream = streamOf(this.#chunks(), () => this.leave())
  }

  get messageId(): string {
    return this.#mirror.messageId
  }

  get isOver(): boolean {
    const { status } = this.#mirror
    return status !== undefined && status !== 'paused'
  }

  /** The id of the approval of a call. */
  approvalOf(toolCallId: string): string | undefined {
    return this.#mirror.approvalOf(toolCallId)
  }

  /** Reads no more of it; the run goes on. */
  leave(): void {
    this.#left.abort()
  }

  /** All that the runtime is given. */
  async *#chunks(): AsyncGenerator<ChatReplyChunk, void, undefined> {
    try {
      for await (const piece of this.#line.pieces()) for (const placed of piece) yield* this.#say(placed)
    } catch (error) {
      // A stream that closes before it said how it ends is a disconnect there, one that fails is not (law 7).
      if (error instanceof RequestError && error.retryable) return
      throw error
    }
    yield* this.#end()
  }

  *#say({ event, sequence }: PlacedEvent): Generator<ChatReplyChunk, void, undefined> {
    const chunk = this.#mirror.take(event, sequence)
    if (chunk?.type === 'step-discarded') yield* this.#takeBack()
    else if (chunk && isTransient(chunk)) yield* this.#transient(chunk as ChatReplyChunk)
    else if (chunk?.type === 'tool-approval-response') yield* this.#corrected(FLUSH)
    else if (isSilent(event)) return
    else if (event.type === 'start') yield* this.#start()
    else if (event.type === 'message-metadata' || this.#isRepeated(event)) yield* this.#corrected(plain(event))
    else yield this.#renamed(plain(event))
  }

  *#start(): Generator<ChatReplyChunk, void, undefined> {
    if (this.#isStarted) return
    this.#isStarted = true
    yield { type: 'start', messageId: this.messageId }
  }

  /** Says how it ended, when all is as it should be. */
  *#end(): Generator<ChatReplyChunk, void, undefined> {
    yield* this.#start()
    if (this.#tell()) {
      yield FLUSH
      this.#update(this.#mirror.parts)
    }
    const { status, messageId, error } = this.#mirror
    if (status === 'failed') throw new Error(error)
    const { finishReason } = this.#mirror.message ?? {}
    if (status === 'completed') yield { type: 'finish', messageId, ...(finishReason && { finishReason }) }
    else yield { type: 'abort', messageId }
  }

  /** Who listens for data hears of it; that it is kept is put right at once, and it is not said where it cannot be. */
  *#transient(chunk: ChatReplyChunk): Generator<ChatReplyChunk, void, undefined> {
    if (this.#tell()) yield* this.#corrected(chunk)
  }

  /** A chunk, and what it should have come to. */
  *#corrected(chunk: ChatReplyChunk): Generator<ChatReplyChunk, void, undefined> {
    yield chunk
    this.#update(this.#parts())
  }

  /** Some words were taken back: what is left is told, and what is still open among that is begun anew. */
  *#takeBack(): Generator<ChatReplyChunk, void, undefined> {
    if (!this.#tell() || !this.#isStarted) return
    yield FLUSH
    this.#generation++
    this.#ids.clear()
    const parts = this.#parts()
    const open = parts.filter(part => part.open)
    const rest = parts.filter(part => !part.open)
    this.#order = [...rest, ...open].map(({ key }) => key)
    this.#update(rest)
    for (const { open: text, part } of open) {
      const { type, id } = text as NonNullable<PlacedPart['open']>
      const said = (part as { readonly text: string }).text
      yield this.#renamed({ type: `${type}-start`, id } as ChatReplyChunk)
      if (said) yield this.#renamed({ type: `${type}-delta`, id, delta: said } as ChatReplyChunk)
    }
  }

  /** The parts as they should be, in the order in which the runtime has them. */
  #parts(): PlacedPart[] {
    const byKey = new Map(this.#mirror.parts.map(part => [part.key, part]))
    const known = new Set(this.#order)
    this.#order = [...this.#order.filter(key => byKey.has(key)), ...[...byKey.keys()].filter(key => !known.has(key))]
    return this.#order.map(key => byKey.get(key) as PlacedPart)
  }

  #update(parts: readonly PlacedPart[]): void {
    const { metadata } = this.#mirror.message ?? {}
    const told = { id: this.messageId, role: 'assistant', parts: parts.map(({ part }) => part), metadata } as const
    this.#tell()?.({ type: 'message-updated', message: told })
  }

  #isRepeated(event: MuiEvent): boolean {
    const { type, id } = event as { readonly type: string; readonly id?: string }
    if (id === undefined || !type.startsWith('data-')) return false
    const name = `${type} ${id}`
    const isRepeated = this.#dataIds.has(name)
    this.#dataIds.add(name)
    return isRepeated
  }

  /** A text under the id that it has in this generation. */
  #renamed(chunk: ChatReplyChunk): ChatReplyChunk {
    if (this.#generation === 0 || !/^(text|reasoning)-/.test(chunk.type)) return chunk
    const { type, id } = chunk as { readonly type: string; readonly id: string }
    const name = `${type.split('-', 1)[0]} ${id}`
    const shown = this.#ids.get(name) ?? `${id}~${this.#generation}`
    this.#ids.set(name, shown)
    return { ...chunk, id: shown } as ChatReplyChunk
  }
}

const isTransient = (chunk: Chunk): boolean =>
  chunk.type.startsWith('data-') && (chunk as { readonly transient?: boolean }).transient === true

/** Whether the runtime is not to hear of it: how it ends is said at the end, and of inputs as they come it makes nothing but noise. */
const isSilent = (event: MuiEvent): boolean =>
  (isExtension(event) && event.type === PASSED) || /^(finish|abort|error|tool-input-delta)$/.test(event.type)

/** A chunk without what goes along beside it. */
function plain({ millrace, origin, ...chunk }: MuiEvent): ChatReplyChunk {
  return chunk as unknown as ChatReplyChunk
}

/** A stream that asks for the next only when it is asked. */
function streamOf<T>(values: AsyncGenerator<T, void, undefined>, leave: () => void): ReadableStream<T> {
  let since = performance.now()
  return new ReadableStream<T>(
    {
      async pull(controller) {
        if (performance.now() - since > TURN_MS) {
          await new Promise(resolve => setTimeout(resolve))
          since = performance.now()
        }
        const { done, value } = await values.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}
