import type { Chunk, ChunkOf, Entry, Json, Origin } from '@millrace/protocol'
import { DraftTracker, type LaneEntry } from '@millrace/protocol/internal'
import type { DecodedChunk, Encoder, EndStatus } from '../dialect/dialect.ts'
import { jsonOrText } from '../dialect/json-or-text.ts'
import { isOfSubAgent, laneOf } from '../dialect/lane.ts'
import { supplementOf, withGuestOrigin } from '../dialect/supplement.ts'
import { DisplayedMessage } from './encode/displayed-message.ts'
import { TanstackPendings } from './encode/pendings.ts'
import { ChunkReader, EXTENSION, resultOf } from './events/chunk-reader.ts'
import type { ContentStreamChunk, DoneStreamChunk, FinishReason, TanstackChunk, TanstackStreamChunk } from './types.ts'

/** Options of an encoder for the chunks of TanStack AI. */
export interface TanstackEncoderOptions {
  /**
   * Value of `content`: the full text so far, or nothing for clients that do not need it, so that the size of a long
   * reply stays linear.
   * @default 'cumulative'
   */
  readonly content?: 'cumulative' | 'empty' | undefined
  /** Value of `model` until a model is known. @default 'unknown' */
  readonly model?: string | undefined
  /** Ids of the calls that this client answered. Their results are not sent back. @default none */
  readonly results?: ReadonlySet<string> | undefined
}

type Of<T extends Chunk['type']> = Extract<Chunk, { type: T }>
type BaseField = 'id' | 'model' | 'timestamp'
type EventWithoutBase = TanstackStreamChunk extends infer C
  ? C extends TanstackStreamChunk
    ? Omit<C, BaseField>
    : never
  : never

/** A call that was sent or waits for an answer. */
interface TanstackCall {
  readonly toolName: string
  /** Length of its input that the client has. */
  sentInput: string
  /** Whether it was discarded. Clients keep the call, and it cannot be sent again. */
  isDiscarded: boolean
  /** Its index in the turn. */
  readonly index: number
}

const NONE: readonly TanstackChunk[] = []

/** Encodes a run as chunks of TanStack AI. */
export class TanstackEncoder implements Encoder<TanstackChunk> {
  readonly #isCompact: boolean
  readonly #results: ReadonlySet<string>
  #model: string
  #timestamp: number | undefined
  #lastSequence = 0
  #eventCount = 0
  #events: TanstackChunk[] = []
  #reader = new ChunkReader()
  #displayedMessage: DisplayedMessage
  readonly #calls = new Map<string, TanstackCall>()
  /** Calls that no `done` has followed. */
  readonly #open = new Set<string>()
  /** Calls with an invalid input, and the error to send at the end of their turn. */
  readonly #rejectedInputs = new Map<string, string>()
  /** Requests are sent at the end of the stream, when they are certain to be open: a late client must not run an answered call again. */
  readonly #pendings = new TanstackPendings()
  /** Calls of each lane since its last commit. */
  readonly #drafts = new DraftTracker<string[]>(() => [])
  #thinkingText = ''
  #callCount = 0
  /** Whether chunks were sent since the last final `done`. */
  #isOpen = true
  #isOver = false
  #finish: FinishReason = 'stop'
  #failure: { message: string; code?: string } = { message: 'The run failed.' }

  constructor({ content, model = 'unknown', results = new Set() }: TanstackEncoderOptions = {}) {
    this.#isCompact = content === 'empty'
    this.#results = results
    this.#model = model
    this.#displayedMessage = new DisplayedMessage(this.#isCompact)
  }

  encode(decoded: DecodedChunk): readonly TanstackChunk[] {
    // An answer arrives after the pause and closes its request.
    this.#pendings.track(decoded.chunk)
    if (this.#isOver) return NONE
    const { chunk, origin, sequence = this.#lastSequence + 1, timestamp } = decoded
    if (sequence !== this.#lastSequence) this.#eventCount = 0
    this.#lastSequence = sequence
    this.#timestamp = timestamp
    const isOwn = !isOfSubAgent(origin)
    if (isOwn && origin?.guest === undefined && origin?.model !== undefined) this.#model = origin.model
    if (isOwn) this.#encodeChunk(chunk, origin)
    else this.#extension(chunk, origin)
    return withGuestOrigin(this.#takeEvents(), origin)
  }

  resume(): readonly TanstackChunk[] {
    // The client starts a new message, without the state of the last one.
    this.#isOver = false
    this.#isOpen = true
    this.#displayedMessage = new DisplayedMessage(this.#isCompact)
    this.#reader = new ChunkReader()
    this.#thinkingText = ''
    this.#open.clear()
    this.#rejectedInputs.clear()
    return NONE
  }

  end(status: EndStatus): readonly TanstackChunk[] {
    if (this.#isOver) return NONE
    if (status === 'failed') this.#sendDerived({ type: 'error', error: this.#failure })
    else if (status === 'paused') this.#sendPendings()
    if (status !== 'failed' && this.#open.size > 0) this.#done({ type: 'done', finishReason: 'tool_calls' })
    if (status !== 'failed' && this.#isOpen) {
      this.#done({ type: 'done', finishReason: status === 'completed' ? this.#finish : null })
    }
    this.#isOver = true
    return this.#takeEvents()
  }

  #takeEvents(): readonly TanstackChunk[] {
    const events = this.#events
    this.#events = []
    return events
  }

  #encodeChunk(chunk: Chunk, origin: Origin | undefined) {
    switch (chunk.type) {
      case 'text-delta':
        return this.#text(chunk)
      case 'reasoning-delta':
        return this.#thinking(chunk)
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-available':
        return this.#input(chunk, origin)
      case 'tool-input-error':
        return this.#inputError(chunk, origin)
      case 'tool-output-available':
        if (chunk.preliminary) return this.#extension(chunk)
        return this.#result(chunk, chunk.output)
      case 'tool-output-error':
        return this.#result(chunk, { error: chunk.errorText })
      case 'tool-output-denied':
        return this.#result(chunk, { error: chunk.reason ?? 'The call was denied.' })
      case 'step-finish':
        return this.#done(doneOf(chunk), chunk)
      case 'step-discarded':
        this.#discard({ chunk, origin: laneOf(origin) })
        return this.#extension(chunk)
      case 'checkpoint-created':
        this.#drafts.apply({ chunk, origin: laneOf(origin) })
        return this.#extension(chunk)
      default:
        this.#rememberEnd(chunk)
        this.#extension(chunk)
    }
  }

  /** Remembers how the run ends. It is sent at the end. */
  #rememberEnd(chunk: Chunk): void {
    if (chunk.type === 'finish') this.#finish = reasonOf(chunk.finishReason)
    else if (chunk.type === 'error') this.#failure = { message: chunk.message, ...(chunk.code && { code: chunk.code }) }
  }

  #text(chunk: ChunkOf<'text-delta'>) {
    // Clients would take the `content` of an empty `content` chunk for a delta.
    if (chunk.delta === '') return this.#extension(chunk)
    this.#repeat(this.#displayedMessage.repeated)
    const { delta } = chunk
    this.#isOpen = true
    this.#send({ type: 'content', delta, content: this.#displayedMessage.text(delta), role: 'assistant' }, chunk)
  }

  #thinking(chunk: ChunkOf<'reasoning-delta'>) {
    if (chunk.delta === '' || !this.#displayedMessage.canThink) return this.#extension(chunk)
    const { delta } = chunk
    this.#displayedMessage.thinking()
    this.#isOpen = true
    if (!this.#isCompact) this.#thinkingText += delta
    this.#send({ type: 'thinking', delta, content: this.#thinkingText }, chunk)
  }

  #input(chunk: Of<'tool-input-start' | 'tool-input-delta' | 'tool-input-available'>, origin: Origin | undefined) {
    const { toolCallId } = chunk
    const knownCall = this.#calls.get(toolCallId)
    if (chunk.type === 'tool-input-delta') {
      if (!knownCall || knownCall.isDiscarded || !this.#open.has(toolCallId)) return this.#extension(chunk)
      return this.#toolCall(toolCallId, chunk.delta, chunk)
    }
    const call = knownCall ?? this.#openCall(toolCallId, chunk.toolName, origin)
    if (chunk.type === 'tool-input-start') {
      if (!knownCall) return this.#toolCall(toolCallId, '', chunk)
      this.#extension(chunk)
      // Repeats a call that the client has, so that later text starts a new part.
      return this.#open.has(toolCallId) ? this.#toolCall(toolCallId, '') : undefined
    }
    const rest = restOf(call, JSON.stringify(chunk.input))
    if (rest === '' || (knownCall && !this.#open.has(toolCallId))) return this.#extension(chunk)
    this.#toolCall(toolCallId, rest, chunk)
  }

  #inputError(chunk: ChunkOf<'tool-input-error'>, origin: Origin | undefined) {
    const { toolCallId, toolName = '', partialInput, errorText } = chunk
    this.#extension(chunk)
    if (!this.#calls.has(toolCallId)) {
      this.#openCall(toolCallId, toolName, origin)
      this.#toolCall(toolCallId, partialInput === undefined ? '' : JSON.stringify(partialInput))
    }
    const content = JSON.stringify({ error: errorText })
    if (this.#open.has(toolCallId)) this.#rejectedInputs.set(toolCallId, content)
    else this.#settled(toolCallId, content)
  }

  #openCall(toolCallId: string, toolName: string, origin: Origin | undefined): TanstackCall {
    if (this.#open.size === 0) this.#callCount = 0
    const call = { toolName, sentInput: '', isDiscarded: false, index: this.#callCount++ }
    this.#calls.set(toolCallId, call)
    this.#drafts.open(laneOf(origin)).data.push(toolCallId)
    return call
  }

  /** Sends a call and the new part of its input. */
  #toolCall(toolCallId: string, more: string, chunk?: Chunk): void {
    const call = this.#calls.get(toolCallId) as TanstackCall
    const { toolName: name, index } = call
    call.sentInput += more
    this.#open.add(toolCallId)
    this.#displayedMessage.call(toolCallId)
    this.#isOpen = true
    const toolCall = { id: toolCallId, type: 'function', function: { name, arguments: more } } as const
    const event: EventWithoutBase = { type: 'tool_call', toolCall, index }
    if (chunk) this.#send(event, chunk)
    else this.#sendDerived(event)
  }

  /** Repeats a call if that makes clients start a new text. */
  #repeat(toolCallId: string | undefined): void {
    if (toolCallId === undefined) return
    const wasOpen = this.#open.has(toolCallId)
    this.#toolCall(toolCallId, '')
    if (!wasOpen) this.#open.delete(toolCallId)
  }

  #result(chunk: Of<'tool-output-available' | 'tool-output-error' | 'tool-output-denied'>, output: Json) {
    const { toolCallId } = chunk
    if (!this.#calls.has(toolCallId) || this.#results.has(toolCallId)) return this.#extension(chunk)
    const content = typeof output === 'string' ? output : JSON.stringify(output)
    const plain = resultOf(toolCallId, typeof output === 'string' ? jsonOrText(output) : output)
    this.#settled(toolCallId, content, chunk, plain)
  }

  /** Sends the result of a call, after the `done` of its turn. */
  #settled(toolCallId: string, content: string, chunk?: Chunk, plain?: Chunk): void {
    if (this.#open.has(toolCallId)) this.#done({ type: 'done', finishReason: 'tool_calls' })
    this.#displayedMessage.result()
    const event: EventWithoutBase = { type: 'tool_result', toolCallId, content }
    if (chunk) this.#send(event, chunk, plain)
    else this.#sendDerived(event)
  }

  #done(event: Omit<DoneStreamChunk, BaseField>, chunk?: Chunk): void {
    if (event.finishReason === 'tool_calls' && this.#open.size > 0)
      this.#repeat(this.#displayedMessage.repeatedBeforeEnd)
    this.#open.clear()
    this.#isOpen = event.finishReason === 'tool_calls'
    // With the complete chunk: a decoder that finds none takes the stream for a foreign one.
    if (chunk) this.#send(event, chunk, undefined)
    else this.#sendDerived(event)
    for (const [toolCallId, content] of this.#rejectedInputs) this.#settled(toolCallId, content)
    this.#rejectedInputs.clear()
  }

  /** Sends all open requests, and repeats their calls if they are in an earlier message. */
  #sendPendings(): void {
    for (const { toolCallId, toolName, input } of this.#pendings.calls) {
      if (this.#displayedMessage.shows(toolCallId)) continue
      this.#calls.set(toolCallId, { toolName, sentInput: '', isDiscarded: false, index: this.#callCount++ })
      this.#toolCall(toolCallId, JSON.stringify(input))
    }
    if (this.#open.size > 0) this.#done({ type: 'done', finishReason: 'tool_calls' })
    for (const { approvalId, ...call } of this.#pendings.calls) {
      if (approvalId === undefined) this.#sendDerived({ type: 'tool-input-available', ...call })
      else this.#sendDerived({ type: 'approval-requested', ...call, approval: { id: approvalId, needsApproval: true } })
      this.#isOpen = false
    }
  }

  /** Clients cannot remove calls: those of a discarded draft stay visible. */
  #discard(discard: LaneEntry): void {
    for (const toolCallId of this.#drafts.apply(discard).discarded?.data ?? []) {
      const call = this.#calls.get(toolCallId)
      if (call) call.isDiscarded = true
      this.#rejectedInputs.delete(toolCallId)
      this.#pendings.drop(toolCallId)
    }
  }

  #send(event: EventWithoutBase, chunk: Chunk, ...decoded: readonly (Chunk | undefined)[]): void {
    const full = this.#withBaseFields(event)
    const plain = decoded.length > 0 ? decoded[0] : this.#reader.chunkOf(full)
    const supplement = supplementOf(chunk, plain)
    this.#events.push(supplement === undefined ? full : { ...full, millrace: supplement })
    this.#reader.follow(full, chunk)
  }

  /** Adds an event that represents no chunk. */
  #sendDerived(event: EventWithoutBase): void {
    const full = this.#withBaseFields(event)
    this.#events.push({ ...full, millrace: null })
    this.#reader.follow(full, undefined)
  }

  #extension(chunk: Chunk, origin?: Origin): void {
    const timestamp = this.#timestamp ?? Date.now()
    const event = { type: EXTENSION, id: this.#id, model: this.#model, timestamp, chunk } as const
    const full = origin ? { ...event, origin } : event
    this.#events.push(full)
    this.#reader.follow(full, origin ? undefined : chunk)
  }

  get #id(): string {
    return `${this.#lastSequence}.${this.#eventCount++}`
  }

  #withBaseFields(event: EventWithoutBase): TanstackStreamChunk {
    const timestamp = this.#timestamp ?? Date.now()
    return { id: this.#id, model: this.#model, timestamp, ...event } as TanstackStreamChunk
  }
}

/** The part of an input that the client does not have. Empty if the client has another input, which cannot be changed. */
function restOf(call: TanstackCall, input: string): string {
  const { sentInput, isDiscarded } = call
  // The streamed JSON is equal except for whitespace.
  if (sentInput !== '' && !isDiscarded) return ''
  return input.startsWith(sentInput) ? input.slice(sentInput.length) : ''
}

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
}

const reasonOf = (reason: string | undefined): FinishReason => FINISH_REASONS[reason ?? ''] ?? null

function doneOf({ finishReason, usage }: ChunkOf<'step-finish'>): Omit<DoneStreamChunk, BaseField> {
  const done = { type: 'done', finishReason: reasonOf(finishReason) } as const
  if (!usage) return done
  const { inputTokens: promptTokens = 0, outputTokens: completionTokens = 0 } = usage
  const { totalTokens = promptTokens + completionTokens } = usage
  return { ...done, usage: { promptTokens, completionTokens, totalTokens } }
}

/** A chunk with its delta, as clients need it. */
export type ServedStreamChunk =
  | Exclude<TanstackStreamChunk, ContentStreamChunk>
  | (ContentStreamChunk & { readonly delta: string })

/** Options of a stream of chunks of TanStack AI. */
export interface StreamChunksOptions extends TanstackEncoderOptions {
  /** Sends only chunks after this position of the log, for a client that has answered a request. @default all chunks */
  readonly after?: number | undefined
}

/**
 * Chunks of a run for `stream()` of the TanStack AI client, without HTTP. Takes the entries of the run from its start, and ends when the run ends or
 * pauses. Chunks without an equivalent have a type that clients ignore (`isMillraceStreamChunk`).
 */
export async function* streamChunks(
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  { after, ...options }: StreamChunksOptions = {},
): AsyncGenerator<ServedStreamChunk, void, void> {
  const encoder = new TanstackEncoder(options)
  let isMuted = after !== undefined
  let status: Parameters<TanstackEncoder['end']>[0] | undefined
  for await (const entry of entries) {
    const { chunk, sequence } = entry
    if (isMuted && sequence > (after as number)) {
      isMuted = false
      yield* encoder.resume() as ServedStreamChunk[]
    }
    const events = encoder.encode(entry)
    if (!isMuted) yield* events as ServedStreamChunk[]
    if (chunk.type === 'run-finished') status = chunk.status
    else if (chunk.type === 'run-paused') status = 'paused'
    else if (chunk.type === 'run-resumed') status = undefined
  }
  // A reader that stops early gets no end (law 7).
  if (status !== undefined) yield* encoder.end(status) as ServedStreamChunk[]
}
