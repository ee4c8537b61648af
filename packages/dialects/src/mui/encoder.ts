import { type Chunk, messageIdOf, type Origin } from '@millrace/protocol'
import { MAIN_LANE } from '@millrace/protocol/internal'
import type { DecodedChunk, Encoder, EndStatus } from '../dialect/dialect.ts'
import { type Supplement, supplementOf } from '../dialect/supplement.ts'
import { UNSETTLED_RESULT } from '../dialect/tool-result.ts'
import { chunkToEvent, extensionIdOf } from './events/chunk-to-event.ts'
import { eventToChunk } from './events/event-to-chunk.ts'
import { EXTENSION, HIDDEN_EXTENSION, type MuiEvent, type MuiOrigin } from './events/mui-event.ts'

/** Options of an encoder for MUI X Chat. */
export interface MuiEncoderOptions {
  /** The id of the run, if it is known before its first chunk. @default the run id of the first chunk */
  readonly runId?: string
}

const NONE: readonly MuiEvent[] = []

/** Encodes a run as chunks of MUI X Chat. Discards are passed on as extensions: only an adapter can remove parts. */
export class MuiEncoder implements Encoder<MuiEvent> {
  #messageId: string | undefined
  #isOpen = false
  #finishReason: string | undefined
  #isOver = false
  #error = 'The run failed.'
  /** Tool names by call id. */
  readonly #names = new Map<string, string>()
  /** Ids of calls without a result. The runtime would show them as running forever. */
  readonly #unsettled = new Set<string>()

  constructor({ runId }: MuiEncoderOptions = {}) {
    if (runId !== undefined) this.#messageId = messageIdOf(runId, runId)
  }

  encode({ chunk, origin }: DecodedChunk): readonly MuiEvent[] {
    if (this.#isOver) return NONE
    if (origin && origin.guest === undefined) {
      this.#messageId ??= messageIdOf(origin.runId, origin.runId)
      // Text of a sub-agent is not part of this message.
      if (origin.agentId !== origin.runId) return this.#extension(chunk, origin)
    }
    const wireOrigin = wireOriginOf(origin)
    switch (chunk.type) {
      case 'error':
        this.#error = chunk.message
        return [extension(chunk, wireOrigin)]
      case 'run-finished':
        return [extension(chunk, wireOrigin), ...this.end(chunk.status)]
      case 'finish':
      case 'abort':
        return this.#messageEnd(chunk, wireOrigin)
      default:
        return this.#events(chunk, wireOrigin)
    }
  }

  resume(): readonly MuiEvent[] {
    this.#isOver = false
    this.#isOpen = true
    return [this.#start()]
  }

  end(status: EndStatus): readonly MuiEvent[] {
    if (this.#isOver) return NONE
    this.#isOver = true
    if (status === 'failed') return [...this.#settleAll(), derived({ type: 'error', errorText: this.#error })]
    const finishReason = status === 'paused' ? 'tool-calls' : this.#finishReason
    const end: MuiEvent =
      status === 'paused' || status === 'completed'
        ? { type: 'finish', ...this.#messageIdField, ...(finishReason !== undefined && { finishReason }) }
        : { type: 'abort', ...this.#messageIdField }
    return this.#withStart(status === 'paused' ? [derived(end)] : [...this.#settleAll(), derived(end)])
  }

  /** Results for calls that are open when the run ends. They match the fold. */
  #settleAll(): MuiEvent[] {
    const events = [...this.#unsettled].map(id =>
      derived({ type: 'tool-output-error', toolCallId: id, errorText: UNSETTLED_RESULT }),
    )
    this.#unsettled.clear()
    return events
  }

  get #messageIdField(): { messageId?: string } {
    return this.#messageId === undefined ? {} : { messageId: this.#messageId }
  }

  #start(): MuiEvent {
    return derived({ type: 'start', ...this.#messageIdField })
  }

  /** Puts the start of the message before the first events. */
  #withStart(events: readonly MuiEvent[]): readonly MuiEvent[] {
    if (this.#isOpen) return events
    this.#isOpen = true
    return [this.#start(), ...events]
  }

  #events(chunk: Chunk, wireOrigin: MuiOrigin | undefined): readonly MuiEvent[] {
    const event = chunkToEvent(chunk, this.#messageId, this.#names)
    if (event === undefined) return this.#extension(chunk, wireOrigin)
    const encoded = withSupplement(event, chunk, wireOrigin)
    if (chunk.type === 'start') {
      this.#isOpen = true
      return chunk.metadata ? [encoded, derived({ type: 'message-metadata', metadata: chunk.metadata })] : [encoded]
    }
    const first = this.#introduceCall(chunk)
    return this.#withStart(first ? [first, encoded] : [encoded])
  }

  #extension(chunk: Chunk, wireOrigin: MuiOrigin | undefined): readonly MuiEvent[] {
    const event = extension(chunk, wireOrigin)
    return event.type === EXTENSION ? this.#withStart([event]) : [event]
  }

  /** The end of the message is sent with the end of the run, so that a client that has one has both. */
  #messageEnd(
    chunk: Extract<Chunk, { type: 'finish' | 'abort' }>,
    wireOrigin: MuiOrigin | undefined,
  ): readonly MuiEvent[] {
    if (chunk.type === 'abort') return [extension(chunk, wireOrigin)]
    const { finishReason, metadata } = chunk
    this.#finishReason = finishReason
    if (metadata === undefined || finishReason === 'error') return [extension(chunk, wireOrigin)]
    return this.#withStart([extension(chunk, wireOrigin), derived({ type: 'message-metadata', metadata })])
  }

  /** Tracks a call. Returns the event that has to introduce it, if the chunk does not. */
  #introduceCall(chunk: Chunk): MuiEvent | undefined {
    if ('toolCallId' in chunk) this.#trackCall(chunk as Extract<Chunk, { toolCallId: string }>)
    if (chunk.type !== 'tool-input-start' && chunk.type !== 'tool-input-available' && chunk.type !== 'tool-input-error')
      return undefined
    const { toolCallId, toolName } = chunk
    const isKnown = this.#names.has(toolCallId)
    if (toolName === undefined) return undefined
    this.#names.set(toolCallId, toolName)
    return chunk.type === 'tool-input-error' && !isKnown
      ? derived({ type: 'tool-input-start', toolCallId, toolName })
      : undefined
  }

  #trackCall(chunk: Extract<Chunk, { toolCallId: string }>): void {
    const isOver = chunk.type === 'tool-output-available' ? !chunk.preliminary : /-(error|denied)$/.test(chunk.type)
    if (isOver) this.#unsettled.delete(chunk.toolCallId)
    else if (/^tool-input-/.test(chunk.type)) this.#unsettled.add(chunk.toolCallId)
  }
}

/** The origin to send. Undefined for the main lane. */
function wireOriginOf(origin: Origin | undefined): MuiOrigin | undefined {
  if (origin === undefined || origin.guest !== undefined) return origin
  return origin.lane === MAIN_LANE ? undefined : { lane: origin.lane }
}

const originField = (wireOrigin: MuiOrigin | undefined): { origin?: MuiOrigin } =>
  wireOrigin === undefined ? {} : { origin: wireOrigin }

/** Adds the supplement and the origin to an event. */
function withSupplement(event: MuiEvent, chunk: Chunk, wireOrigin: MuiOrigin | undefined): MuiEvent {
  const supplement = supplementOf(chunk, eventToChunk(event))
  if (supplement === undefined && wireOrigin === undefined) return event
  return { ...event, ...(supplement !== undefined && { millrace: supplement }), ...originField(wireOrigin) }
}

/** Marks an event that represents no chunk. */
const derived = (event: MuiEvent): MuiEvent => ({ ...event, millrace: null satisfies Supplement })

/** Wraps a chunk that MUI X Chat has no type for. */
function extension(chunk: Chunk, wireOrigin: MuiOrigin | undefined): MuiEvent {
  const id = extensionIdOf(chunk, wireOrigin !== undefined && 'agentId' in wireOrigin)
  return id === undefined
    ? { type: HIDDEN_EXTENSION, data: { chunk }, ...originField(wireOrigin) }
    : { type: EXTENSION, id, data: { chunk }, ...originField(wireOrigin) }
}
