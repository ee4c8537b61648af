import type { Chunk, LaneEntry, LaneId, Origin } from '@millrace/protocol'
import type { DecodedChunk, Encoder, EndStatus } from '../dialect/dialect.ts'
import { laneOf } from '../dialect/lane.ts'
import { type Supplement, supplementOf, withGuestOrigin } from '../dialect/supplement.ts'
import { isToolResult } from '../dialect/tool-result.ts'
import { chunkOf, type DoneData, EXTENSION, type KortyxChunk, type KortyxExtension, textOf } from './chunk.ts'
import { Drafts } from './draft.ts'
import { interruptOf } from './interrupt.ts'
import { PendingRequests } from './pendings.ts'

export interface KortyxEncoderOptions {
  /** The session, where clients are told of it. */
  readonly sessionId?: string | undefined
  /** Which turn of the session it is, from 1: the checkpoint at its end says so. */
  readonly turnIndex?: number | undefined
  /** The token that answers a request; the request's own id, if nothing is said. */
  readonly tokenOf?: ((requestId: string) => string) | undefined
}

const NONE: readonly KortyxChunk[] = []

/** Says a run as a Kortyx stream. */
export class KortyxEncoder implements Encoder<KortyxChunk> {
  readonly #options: KortyxEncoderOptions
  #isOpen = false
  #isOver = false
  #error = 'The run failed.'
  #checkpointId: string | undefined
  /** Texts that have begun, by what clients call them. */
  readonly #texts = new Map<string, string>()
  /** What clients call a text, where its own name stands for words that were taken back. */
  readonly #renamed = new Map<string, string>()
  #renames = 0
  readonly #desk = new PendingRequests()
  readonly #drafts = new Drafts()

  constructor(options: KortyxEncoderOptions = {}) {
    this.#options = options
  }

  encode(told: DecodedChunk): readonly KortyxChunk[] {
    const events = withGuestOrigin(this.#encode(told), told.origin)
    // What happens between two connections is not said, and yet has happened.
    return this.#isOver ? NONE : this.#said(events)
  }

  resume(): readonly KortyxChunk[] {
    this.#isOver = false
    this.#isOpen = false
    return [...this.#opening(), ...[...this.#drafts.open()].map(derived)]
  }

  end(status: EndStatus): readonly KortyxChunk[] {
    if (this.#isOver) return NONE
    const events: KortyxChunk[] = this.#closed(this.#texts.keys())
    if (status === 'paused') {
      const { tokenOf = id => id } = this.#options
      for (const waiting of this.#desk.waiting()) events.push(interruptOf(waiting, tokenOf(waiting.id)))
    } else if (status === 'failed') events.push({ type: 'error', message: this.#error })
    // A client takes any other end for the end of an answer that is whole.
    else if (status !== 'completed') events.push({ type: 'error', message: 'The run was stopped.' })
    if (status === 'paused' || status === 'completed') events.push(...this.#checkpoint())
    events.push({ type: 'done', data: { status } satisfies DoneData })
    const said = this.#said(events.map(derived))
    this.#isOver = true
    return said
  }

  #encode({ chunk, origin }: DecodedChunk): readonly KortyxChunk[] {
    this.#desk.follow(chunk, origin)
    // The words of a sub-agent are not of this message; what it asks for waits like anything else.
    if (origin && origin.guest === undefined && origin.agentId !== origin.runId) {
      if (isToolResult(chunk)) this.#desk.settled(chunk.toolCallId)
      return [extension({ chunk, origin })]
    }
    const lane = laneOf(origin)
    switch (chunk.type) {
      case 'step-discarded':
        return [extension({ chunk }), ...this.#discard({ chunk, origin: lane })]
      case 'checkpoint-created':
        this.#checkpointId = chunk.checkpointId
        this.#drafts.seal({ chunk, origin: lane })
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
        return [event === undefined ? extension({ chunk }) : besides(event, chunk)]
      }
    }
  }

  /** Some chunks, after those with which a stream begins. */
  #said(events: readonly KortyxChunk[]): readonly KortyxChunk[] {
    return this.#isOpen || events.length === 0 ? events : [...this.#opening(), ...events]
  }

  #opening(): readonly KortyxChunk[] {
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
    const segmentId = this.#renamed.get(id) ?? id
    const node = nodeOf(origin)
    const about = node === undefined ? { segmentId } : { segmentId, node }
    const event: KortyxChunk =
      type === 'text-delta'
        ? { type, segmentId, delta: chunk.delta, ...(node !== undefined && { node }) }
        : { type, ...about }
    const said = besides(event, chunk)
    const isOpen = this.#texts.has(id)
    if (type === 'text-end') this.#texts.delete(id)
    if (isOpen) return [said]
    if (type !== 'text-end') this.#texts.set(id, segmentId)
    this.#drafts.text(lane, id)
    return type === 'text-start' ? [said] : [derived({ type: 'text-start', ...about }), said]
  }

  /** What says that texts are over. */
  #closed(ids: Iterable<string>): KortyxChunk[] {
    const events: KortyxChunk[] = []
    for (const id of ids) {
      const segmentId = this.#texts.get(id)
      if (segmentId !== undefined) events.push({ type: 'text-end', segmentId })
      this.#texts.delete(id)
    }
    return events
  }

  /** How Kortyx says a chunk, as well as it can; undefined where it has nothing for it. */
  #event(chunk: Chunk, lane: LaneId, node: string | undefined): KortyxChunk | undefined {
    const about = node === undefined ? {} : { node }
    switch (chunk.type) {
      case 'session':
        return { type: chunk.type, sessionId: chunk.sessionId }
      case 'status':
        return { type: chunk.type, message: chunk.message, ...about }
      case 'transition':
        return chunk
      case 'structured-data':
        this.#drafts.structured(lane, chunk)
        return chunk
      case 'structured-data-invalidated': {
        const { type, streamId } = chunk
        const event = { type, streamId, checkpointId: this.#checkpointId ?? '' } as const
        this.#drafts.structured(lane, event)
        return event
      }
      case 'tool-input-available': {
        const { toolCallId, toolName: tool, input } = chunk
        this.#drafts.call(lane, toolCallId)
        return { type: 'tool-call-start', tool, toolCallId, input, ...about }
      }
      case 'tool-output-available': {
        const { toolCallId, output, preliminary } = chunk
        const tool = preliminary ? undefined : this.#desk.settled(toolCallId)
        if (tool === undefined) return undefined
        const isText = typeof output === 'string'
        const content = isText ? output : textOf(output)
        return {
          type: 'tool-call-result',
          tool,
          toolCallId,
          content,
          ...(!isText && { structuredContent: output }),
          ...about,
        }
      }
      case 'tool-output-denied': {
        const { toolCallId, reason } = chunk
        const tool = this.#desk.settled(toolCallId)
        const content = reason === undefined ? 'The call was denied.' : `The call was denied: ${reason}`
        return tool === undefined
          ? undefined
          : { type: 'tool-call-result', tool, toolCallId, content, isError: true, ...about }
      }
      case 'tool-output-error':
      case 'tool-input-error': {
        const { toolCallId, errorText: message } = chunk
        const named = chunk.type === 'tool-input-error' ? chunk.toolName : undefined
        const tool = this.#desk.settled(toolCallId) ?? named
        return tool === undefined ? undefined : { type: 'tool-call-error', tool, toolCallId, message, ...about }
      }
      default:
        return undefined
    }
  }

  /** Takes back a lane's draft as far as Kortyx can: words that were shown stay, and the next attempt begins another text. */
  #discard(discard: LaneEntry): KortyxChunk[] {
    const { texts, calls, streams } = this.#drafts.discard(discard)
    const events = this.#closed(texts)
    for (const id of texts) this.#renamed.set(id, `${id}~${++this.#renames}`)
    for (const toolCallId of calls) {
      const tool = this.#desk.takenBack(toolCallId)
      if (tool !== undefined)
        events.push({ type: 'tool-call-error', tool, toolCallId, message: 'The attempt was taken back.' })
    }
    const checkpointId = this.#checkpointId ?? ''
    for (const [streamId, left] of streams)
      events.push({ type: 'structured-data-invalidated', streamId, checkpointId }, ...left)
    return events.map(derived)
  }
}

const nodeOf = (origin: Origin | undefined): string | undefined =>
  origin?.guest === undefined ? origin?.node : undefined

/** A chunk that stands for another, with what it does not say of that. */
function besides(event: KortyxChunk, chunk: Chunk): KortyxChunk {
  const aside = supplementOf(chunk, chunkOf(event))
  return aside === undefined ? event : { ...event, millrace: aside }
}

/** A chunk that stands for no other. */
const derived = (event: KortyxChunk): KortyxChunk => ({ ...event, millrace: null satisfies Supplement })

/** A chunk that Kortyx has nothing for. */
function extension({ chunk, origin }: KortyxExtension): KortyxChunk {
  const content: KortyxExtension = { chunk, ...(origin && { origin }) }
  return { type: 'tool-result', tool: EXTENSION, content }
}
