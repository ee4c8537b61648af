import { type Chunk, messageIdOf, type Origin } from '@millrace/protocol'
import type { DecodedChunk, Encoder, EndStatus } from '../dialect/dialect.ts'
import { type Supplement, supplementOf } from '../dialect/supplement.ts'
import { chunkOf, EXTENSION, eventOf, keptAs, type MuiEvent, PASSED, type WireOrigin } from './chunk.ts'

export interface MuiEncoderOptions {
  /** The run, where it is known before anything of it is said. */
  readonly runId?: string
}

/** The lane of a run's own agent: of what is written there nothing is said. */
export const MAIN_LANE = 'main'

const NONE: readonly MuiEvent[] = []

/** Says a run as chunks of MUI X Chat. What is taken back it can only pass on: parts cannot be taken back in that dialect, but by an adapter that knows how. */
export class MuiEncoder implements Encoder<MuiEvent> {
  #messageId: string | undefined
  #isOpen = false
  #finishReason: string | undefined
  #isOver = false
  #error = 'The run failed.'
  /** The tools of the calls that were made. */
  readonly #names = new Map<string, string>()
  /** The calls that have no outcome yet: the runtime would show them at work for ever. */
  readonly #unsettled = new Set<string>()

  constructor({ runId }: MuiEncoderOptions = {}) {
    if (runId !== undefined) this.#messageId = messageIdOf(runId, runId)
  }

  encode({ chunk, origin }: DecodedChunk): readonly MuiEvent[] {
    if (this.#isOver) return NONE
    if (origin && origin.guest === undefined) {
      this.#messageId ??= messageIdOf(origin.runId, origin.runId)
      // The words of a sub-agent are not of this message.
      if (origin.agentId !== origin.runId) return this.#extended(chunk, origin)
    }
    const by = wireOriginOf(origin)
    switch (chunk.type) {
      case 'error':
        this.#error = chunk.message
        return [extension(chunk, by)]
      case 'run-finished':
        return [extension(chunk, by), ...this.end(chunk.status)]
      case 'finish':
      case 'abort':
        return this.#close(chunk, by)
      default:
        return this.#said(chunk, by)
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
    if (status === 'failed') return [...this.#settled(), derived({ type: 'error', errorText: this.#error })]
    const finishReason = status === 'paused' ? 'tool-calls' : this.#finishReason
    const end: MuiEvent =
      status === 'paused' || status === 'completed'
        ? { type: 'finish', ...this.#named, ...(finishReason !== undefined && { finishReason }) }
        : { type: 'abort', ...this.#named }
    return this.#opened(status === 'paused' ? [derived(end)] : [...this.#settled(), derived(end)])
  }

  /** What becomes of calls that nobody ends any more, as the fold has it. */
  #settled(): MuiEvent[] {
    const errorText = 'The run ended before this call did.'
    const events = [...this.#unsettled].map(id => derived({ type: 'tool-output-error', toolCallId: id, errorText }))
    this.#unsettled.clear()
    return events
  }

  get #named(): { messageId?: string } {
    return this.#messageId === undefined ? {} : { messageId: this.#messageId }
  }

  #start(): MuiEvent {
    return derived({ type: 'start', ...this.#named })
  }

  /** Some events, after the one that says which message they are of. */
  #opened(events: readonly MuiEvent[]): readonly MuiEvent[] {
    if (this.#isOpen) return events
    this.#isOpen = true
    return [this.#start(), ...events]
  }

  #said(chunk: Chunk, by: WireOrigin | undefined): readonly MuiEvent[] {
    const event = eventOf(chunk, this.#messageId, this.#names)
    if (event === undefined) return this.#extended(chunk, by)
    const told = beside(event, chunk, by)
    if (chunk.type === 'start') {
      this.#isOpen = true
      return chunk.metadata ? [told, derived({ type: 'message-metadata', metadata: chunk.metadata })] : [told]
    }
    const first = this.#called(chunk)
    return this.#opened(first ? [first, told] : [told])
  }

  #extended(chunk: Chunk, by: WireOrigin | undefined): readonly MuiEvent[] {
    const said = extension(chunk, by)
    return said.type === EXTENSION ? this.#opened([said]) : [said]
  }

  /** How the message ends is said with the end of its run: who hears the one has all of the other. */
  #close(chunk: Extract<Chunk, { type: 'finish' | 'abort' }>, by: WireOrigin | undefined): readonly MuiEvent[] {
    if (chunk.type === 'abort') return [extension(chunk, by)]
    const { finishReason, metadata } = chunk
    this.#finishReason = finishReason
    if (metadata === undefined || finishReason === 'error') return [extension(chunk, by)]
    return this.#opened([extension(chunk, by), derived({ type: 'message-metadata', metadata })])
  }

  /** Remembers a call, and makes it known where what is said of it would not. */
  #called(chunk: Chunk): MuiEvent | undefined {
    if ('toolCallId' in chunk) this.#follow(chunk as Extract<Chunk, { toolCallId: string }>)
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

  #follow(chunk: Extract<Chunk, { toolCallId: string }>): void {
    const isOver = chunk.type === 'tool-output-available' ? !chunk.preliminary : /-(error|denied)$/.test(chunk.type)
    if (isOver) this.#unsettled.delete(chunk.toolCallId)
    else if (/^tool-input-/.test(chunk.type)) this.#unsettled.add(chunk.toolCallId)
  }
}

/** Who wrote something, where it is not who writes most of it. */
function wireOriginOf(origin: Origin | undefined): WireOrigin | undefined {
  if (origin === undefined || origin.guest !== undefined) return origin
  return origin.lane === MAIN_LANE ? undefined : { lane: origin.lane }
}

const from = (by: WireOrigin | undefined): { origin?: WireOrigin } => (by === undefined ? {} : { origin: by })

/** An event, with what it does not say of its chunk. */
function beside(event: MuiEvent, chunk: Chunk, by: WireOrigin | undefined): MuiEvent {
  const aside = supplementOf(chunk, chunkOf(event))
  if (aside === undefined && by === undefined) return event
  return { ...event, ...(aside !== undefined && { millrace: aside }), ...from(by) }
}

/** An event that stands for no chunk of its own. */
const derived = (event: MuiEvent): MuiEvent => ({ ...event, millrace: null satisfies Supplement })

/** A chunk that MUI X Chat has nothing for. */
function extension(chunk: Chunk, by: WireOrigin | undefined): MuiEvent {
  const id = keptAs(chunk, by !== undefined && 'agentId' in by)
  return id === undefined
    ? { type: PASSED, data: { chunk }, ...from(by) }
    : { type: EXTENSION, id, data: { chunk }, ...from(by) }
}
