import type { Chunk, Origin } from '@millrace/protocol'
import type { LaneEntry, LaneId } from '@millrace/protocol/internal'
import type { DecodedChunk, Encoder, EndStatus } from '../dialect/dialect.ts'
import { isOfSubAgent, laneOf } from '../dialect/lane.ts'
import { type Supplement, supplementOf, withGuestOrigin } from '../dialect/supplement.ts'
import { isToolResult } from '../dialect/tool-result.ts'
import { Drafts } from './encode/drafts.ts'
import { PendingRequests } from './encode/pendings.ts'
import { eventToChunk, textOf } from './events/event-to-chunk.ts'
import { extension } from './events/extension.ts'
import { interruptOf } from './events/interrupt.ts'
import type { DoneData, KortyxChunk } from './types.ts'

/** Options of an encoder for Kortyx. */
export interface KortyxEncoderOptions {
  /** The session id, if clients should get it. @default none */
  readonly sessionId?: string | undefined
  /** The number of the turn in the session, from 1, for the checkpoint at its end. @default none */
  readonly turnIndex?: number | undefined
  /** Creates the token that answers a request. @default the id of the request */
  readonly tokenOf?: ((requestId: string) => string) | undefined
}

const NONE: readonly KortyxChunk[] = []

/** Encodes a run as a Kortyx stream. */
export class KortyxEncoder implements Encoder<KortyxChunk> {
  readonly #options: KortyxEncoderOptions
  #isOpen = false
  #isOver = false
  #error = 'The run failed.'
  #checkpointId: string | undefined
  /** Segment ids of open texts, by text id. */
  readonly #texts = new Map<string, string>()
  /** New segment ids of texts that were discarded, by text id. */
  readonly #segmentIds = new Map<string, string>()
  #renames = 0
  readonly #requests = new PendingRequests()
  readonly #drafts = new Drafts()

  constructor(options: KortyxEncoderOptions = {}) {
    this.#options = options
  }

  encode(decoded: DecodedChunk): readonly KortyxChunk[] {
    const events = withGuestOrigin(this.#encode(decoded), decoded.origin)
    // Between two connections the state is tracked, but nothing is sent.
    return this.#isOver ? NONE : this.#withStart(events)
  }

  resume(): readonly KortyxChunk[] {
    this.#isOver = false
    this.#isOpen = false
    return [...this.#startEvents(), ...[...this.#drafts.open()].map(derived)]
  }

  end(status: EndStatus): readonly KortyxChunk[] {
    if (this.#isOver) return NONE
    const events: KortyxChunk[] = this.#closeTexts(this.#texts.keys())
    if (status === 'paused') {
      const { tokenOf = id => id } = this.#options
      for (const pending of this.#requests.pendings()) events.push(interruptOf(pending, tokenOf(pending.id)))
    } else if (status === 'failed') events.push({ type: 'error', message: this.#error })
    // Without an error event, clients show any end as a complete reply.
    else if (status !== 'completed') events.push({ type: 'error', message: 'The run was stopped.' })
    if (status === 'paused' || status === 'completed') events.push(...this.#checkpoint())
    events.push({ type: 'done', data: { status } satisfies DoneData })
    const result = this.#withStart(events.map(derived))
    this.#isOver = true
    return result
  }

  #encode({ chunk, origin }: DecodedChunk): readonly KortyxChunk[] {
    this.#requests.track(chunk, origin)
    // Text of a sub-agent is not part of this message, but its requests are tracked.
    if (origin && isOfSubAgent(origin)) {
      if (isToolResult(chunk)) this.#requests.settle(chunk.toolCallId)
      return [extension({ chunk, origin })]
    }
    const lane = laneOf(origin)
    switch (chunk.type) {
      case 'step-discarded':
        return [extension({ chunk }), ...this.#discard({ chunk, origin: lane })]
      case 'checkpoint-created':
        this.#checkpointId = chunk.checkpointId
        this.#drafts.commit({ chunk, origin: lane })
        return [extension({ chunk })]
      case 'error':
        this.#error = chunk.message
        return [extension({ chunk })]
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return this.#text(chunk, lane, origin)
      default: {
        const event = this.#event(chunk, lane, nodeOf(origin))
        return [event === undefined ? extension({ chunk }) : withSupplement(event, chunk)]
      }
    }
  }

  /** Puts the session before the first chunks. */
  #withStart(events: readonly KortyxChunk[]): readonly KortyxChunk[] {
    return this.#isOpen || events.length === 0 ? events : [...this.#startEvents(), ...events]
  }

  #startEvents(): readonly KortyxChunk[] {
    this.#isOpen = true
    const { sessionId } = this.#options
    return sessionId === undefined ? NONE : [derived({ type: 'session', sessionId })]
  }

  #checkpoint(): readonly KortyxChunk[] {
    const { sessionId, turnIndex } = this.#options
    const id = this.#checkpointId
    if (id === undefined || sessionId === undefined || turnIndex === undefined) return NONE
    return [{ type: 'checkpoint', id, sessionId, turnIndex }]
  }

  #text(
    chunk: Extract<Chunk, { type: 'text-start' | 'text-delta' | 'text-end' }>,
    lane: LaneId,
    origin: Origin | undefined,
  ): KortyxChunk[] {
    const { type, id } = chunk
    const segmentId = this.#segmentIds.get(id) ?? id
    const node = nodeOf(origin)
    const fields = node === undefined ? { segmentId } : { segmentId, node }
    const event: KortyxChunk =
      type === 'text-delta'
        ? { type, segmentId, delta: chunk.delta, ...(node !== undefined && { node }) }
        : { type, ...fields }
    const result = withSupplement(event, chunk)
    const isOpen = this.#texts.has(id)
    if (type === 'text-end') this.#texts.delete(id)
    if (isOpen) return [result]
    if (type !== 'text-end') this.#texts.set(id, segmentId)
    this.#drafts.text(lane, id)
    return type === 'text-start' ? [result] : [derived({ type: 'text-start', ...fields }), result]
  }

  /** The end events of texts. */
  #closeTexts(ids: Iterable<string>): KortyxChunk[] {
    const events: KortyxChunk[] = []
    for (const id of ids) {
      const segmentId = this.#texts.get(id)
      if (segmentId !== undefined) events.push({ type: 'text-end', segmentId })
      this.#texts.delete(id)
    }
    return events
  }

  /** Encodes a chunk, as far as Kortyx can express it. Undefined if there is no equivalent. */
  #event(chunk: Chunk, lane: LaneId, node: string | undefined): KortyxChunk | undefined {
    const fields = node === undefined ? {} : { node }
    switch (chunk.type) {
      case 'session':
        return { type: chunk.type, sessionId: chunk.sessionId }
      case 'status':
        return { type: chunk.type, message: chunk.message, ...fields }
      case 'transition':
        return chunk
      case 'structured-data':
        return this.#drafts.structured(lane, chunk) ? chunk : undefined
      case 'structured-data-invalidated': {
        const { type, streamId } = chunk
        const event = { type, streamId, checkpointId: this.#checkpointId ?? '' } as const
        this.#drafts.structured(lane, event)
        return event
      }
      case 'tool-input-available': {
        const { toolCallId, toolName: tool, input } = chunk
        this.#drafts.call(lane, toolCallId)
        return { type: 'tool-call-start', tool, toolCallId, input, ...fields }
      }
      case 'tool-output-available': {
        const { toolCallId, output, preliminary } = chunk
        const tool = preliminary ? undefined : this.#requests.settle(toolCallId)
        if (tool === undefined) return undefined
        const isText = typeof output === 'string'
        const content = isText ? output : textOf(output)
        return {
          type: 'tool-call-result',
          tool,
          toolCallId,
          content,
          ...(!isText && { structuredContent: output }),
          ...fields,
        }
      }
      case 'tool-output-denied': {
        const { toolCallId, reason } = chunk
        const tool = this.#requests.settle(toolCallId)
        const content = reason === undefined ? 'The call was denied.' : `The call was denied: ${reason}`
        return tool === undefined
          ? undefined
          : { type: 'tool-call-result', tool, toolCallId, content, isError: true, ...fields }
      }
      case 'tool-output-error':
      case 'tool-input-error': {
        const { toolCallId, errorText: message } = chunk
        const toolName = chunk.type === 'tool-input-error' ? chunk.toolName : undefined
        const tool = this.#requests.settle(toolCallId) ?? toolName
        return tool === undefined ? undefined : { type: 'tool-call-error', tool, toolCallId, message, ...fields }
      }
      default:
        return undefined
    }
  }

  /** Discards a draft, as far as Kortyx can: text that clients display stays, and the next attempt starts a new text. */
  #discard(discard: LaneEntry): KortyxChunk[] {
    const { texts, calls, streams } = this.#drafts.discard(discard)
    const events = this.#closeTexts(texts)
    for (const id of texts) this.#segmentIds.set(id, `${id}~${++this.#renames}`)
    for (const toolCallId of calls) {
      const tool = this.#requests.discard(toolCallId)
      if (tool !== undefined)
        events.push({ type: 'tool-call-error', tool, toolCallId, message: 'The attempt was taken back.' })
    }
    const checkpointId = this.#checkpointId ?? ''
    for (const [streamId, committed] of streams)
      events.push({ type: 'structured-data-invalidated', streamId, checkpointId }, ...committed)
    return events.map(derived)
  }
}

const nodeOf = (origin: Origin | undefined): string | undefined =>
  origin?.guest === undefined ? origin?.node : undefined

/** Adds the supplement to an event. */
function withSupplement(event: KortyxChunk, chunk: Chunk): KortyxChunk {
  const supplement = supplementOf(chunk, eventToChunk(event))
  return supplement === undefined ? event : { ...event, millrace: supplement }
}

/** Marks an event that represents no chunk. */
const derived = (event: KortyxChunk): KortyxChunk => ({ ...event, millrace: null satisfies Supplement })
