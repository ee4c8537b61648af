import { type Chunk, type ChunkOf, isDraftChunk, type Json } from '@millrace/protocol'
import { DraftTracker, isSameLane, type LaneId, laneKeyOf } from '@millrace/protocol/internal'
import type { DecodedChunk, Encoder, EndStatus } from '../dialect/dialect.ts'
import { isOfSubAgent, laneOf } from '../dialect/lane.ts'
import { type Supplement, supplementOf } from '../dialect/supplement.ts'
import { type ChunkContext, chunkToEvent } from './events/chunk-to-event.ts'
import { EXTENSION, eventToChunk } from './events/event-to-chunk.ts'
import type { BaseChunk, ResyncReason, StreamChunk, StreamChunkEvent, StreamEvent } from './types.ts'

/** The state of a session at a position, which Helix sends with a resync. */
export interface ResyncPosition {
  readonly checkpointId: string
  readonly stepCount: number
  readonly messageCount: number
  readonly fromSequence: number
}

/** Options of an encoder for Helix Agents. */
export interface HelixEncoderOptions {
  /** Run id for chunks without an origin. @default '' */
  readonly runId?: string
  /** Agent type for chunks without an origin. @default '' */
  readonly agentType?: string
  /**
   * Reads from the log where the discard or rewind at a sequence leads to. Without it, the encoder uses the chunks it has seen.
   * @default none
   */
  readonly placeOf?: (sequence: number) => Partial<ResyncPosition> | undefined
}

interface HelixCall {
  readonly toolName: string
  readonly executor: string | undefined
  isStreaming: boolean
}

/** An open block of reasoning. */
interface ReasoningBlock {
  readonly id: string
  readonly base: BaseChunk
  readonly lane: LaneId
  readonly pieces: string[]
}

/** An event under construction. */
type MutableEvent = { -readonly [K in keyof StreamChunkEvent]: StreamChunkEvent[K] }

const NONE: readonly StreamEvent[] = []
const LOG_START: ResyncPosition = { checkpointId: '', stepCount: 0, messageCount: 0, fromSequence: 0 }

/** Encodes a session, run after run, as a stream of Helix. */
export class HelixEncoder implements Encoder<StreamEvent> {
  readonly #options: HelixEncoderOptions
  /** The last origin, for chunks without one. */
  #agent: Pick<BaseChunk, 'agentId' | 'agentType' | 'step'>
  #runId: string
  readonly #calls = new Map<string, HelixCall>()
  readonly #openReasoning = new Map<string, ReasoningBlock>()
  /** Current step id by agent. */
  readonly #stepIds = new Map<string, string>()
  /** The position that a discard goes back to, by lane. */
  readonly #commits = new Map<string, ResyncPosition>()
  /** Lanes with content since their last commit. */
  readonly #drafts = new DraftTracker<undefined>(() => undefined)
  #start: ResyncPosition = LOG_START
  #messages = 0
  #isSuperseded = false
  #output: Json | undefined
  #error = RUN_FAILED
  /** The reason of a stop request. */
  #stopReason: string | undefined

  constructor(options: HelixEncoderOptions = {}) {
    this.#options = options
    const { runId = '', agentType = '' } = options
    this.#runId = runId
    this.#agent = { agentId: runId, agentType, step: 0 }
  }

  encode(decoded: DecodedChunk): readonly StreamEvent[] {
    const { chunk, origin } = decoded
    const base = this.#base(decoded)
    const context: ChunkContext = {
      base,
      runId: this.#runId,
      stepId: this.#stepIds.get(base.agentId) ?? String(base.step),
      call: 'toolCallId' in chunk ? this.#calls.get(chunk.toolCallId) : undefined,
    }
    const events = this.#encodeChunk(chunk, context, decoded) as MutableEvent[]
    const last = events[events.length - 1] as MutableEvent
    if (decoded.sequence !== undefined) last.sequence = decoded.sequence
    if (origin && (origin.guest !== undefined || isOfSubAgent(origin)))
      for (const event of events) event.origin = origin
    return events
  }

  resume(): readonly StreamEvent[] {
    return NONE
  }

  end(status: EndStatus): readonly StreamEvent[] {
    switch (status) {
      case 'paused':
        return [{ type: 'status', status: 'paused' }]
      case 'failed':
        return [{ type: 'fail', error: this.#error }]
      case 'aborted':
        return [{ type: 'fail', error: this.#stopReason ?? 'The run was aborted.' }]
      default:
        return [{ type: 'end', ...(this.#output !== undefined && { finalOutput: this.#output }) }]
    }
  }

  #base({ origin, timestamp = Date.now() }: DecodedChunk): BaseChunk {
    if (origin === undefined || origin.guest !== undefined) return { ...this.#agent, timestamp }
    const { agentId, agentType, step, runId } = origin
    if (agentId === runId) {
      this.#runId = runId
      this.#agent = { agentId, agentType, step }
    }
    return { agentId, agentType, timestamp, step }
  }

  #encodeChunk(chunk: Chunk, context: ChunkContext, decoded: DecodedChunk): readonly StreamChunkEvent[] {
    const lane = laneOf(decoded.origin)
    const { base } = context
    // The start of a message cannot be discarded.
    if (chunk.type !== 'start' && isDraftChunk(chunk)) this.#drafts.open(lane)
    if (chunk.type !== 'step-discarded' && chunk.type !== 'executor-superseded') this.#isSuperseded = false
    switch (chunk.type) {
      case 'reasoning-start':
        this.#openReasoning.set(reasoningKey(base, chunk.id), { id: chunk.id, base, lane, pieces: [] })
        return [extension(chunk, base)]
      case 'reasoning-delta': {
        const key = reasoningKey(base, chunk.id)
        const block = this.#openReasoning.get(key) ?? { id: chunk.id, base, lane, pieces: [] }
        block.pieces.push(chunk.delta)
        this.#openReasoning.set(key, block)
        return [encoded(chunk, context)]
      }
      case 'reasoning-end': {
        const key = reasoningKey(base, chunk.id)
        const { pieces = [] } = this.#openReasoning.get(key) ?? {}
        this.#openReasoning.delete(key)
        return [withSupplement(chunk, completeThinking(pieces, base))]
      }
      case 'tool-input-start':
        this.#calls.set(chunk.toolCallId, { ...callOf(chunk), isStreaming: true })
        return [encoded(chunk, context)]
      case 'tool-input-available': {
        const events = [...this.#endInput(chunk.toolCallId, base), encoded(chunk, context)]
        this.#calls.set(chunk.toolCallId, { ...callOf(chunk), isStreaming: false })
        return events
      }
      case 'tool-input-error':
        return [...this.#endInput(chunk.toolCallId, base), encoded(chunk, context)]
      case 'step-start':
        if (chunk.stepId !== undefined) this.#stepIds.set(base.agentId, chunk.stepId)
        return [encoded(chunk, context)]
      case 'message':
      case 'start':
        this.#messages++
        return [extension(chunk, base)]
      case 'checkpoint-created':
        return this.#commit(chunk, context, lane, decoded)
      case 'step-discarded':
        return this.#discard(chunk, context, lane, decoded)
      case 'executor-superseded':
        this.#isSuperseded = true
        return [encoded(chunk, context)]
      case 'rewind':
        return this.#rewind(chunk, context, decoded)
      case 'subagent-start':
        this.#messages++
        return [encoded(chunk, context)]
      case 'subagent-end': {
        const closing = this.#completeBlocks(({ base: { agentId } }) => agentId === chunk.agentId)
        this.#stepIds.delete(chunk.agentId)
        return [...closing, encoded(chunk, context)]
      }
      case 'output':
        if (base.agentId === this.#runId) this.#output = chunk.output
        return [encoded(chunk, context)]
      case 'error':
        // The error of a sub-agent does not replace that of the run.
        if (base.agentId === this.#runId) this.#error = chunk.message
        return [withOwnMark(encoded(chunk, context))]
      case 'stop-requested':
        if (chunk.runId === this.#runId) this.#stopReason = chunk.reason
        return [extension(chunk, base)]
      case 'run-started':
        return this.#begin(chunk, context, decoded)
      case 'run-finished':
        return this.#finish(chunk, context)
      default:
        return [encoded(chunk, context)]
    }
  }

  #begin(chunk: Chunk, { base }: ChunkContext, { sequence = 0 }: DecodedChunk): readonly StreamChunkEvent[] {
    this.#output = undefined
    this.#error = RUN_FAILED
    this.#stopReason = undefined
    this.#start = { ...LOG_START, messageCount: this.#messages, fromSequence: sequence }
    return [extension(chunk, base)]
  }

  /** Removes the state of a run that has ended. */
  #finish(chunk: ChunkOf<'run-finished'>, context: ChunkContext): readonly StreamChunkEvent[] {
    const { reason = this.#stopReason } = chunk
    const helix = chunkToEvent(reason === undefined ? chunk : { ...chunk, reason }, context)
    const event = helix === undefined ? extension(chunk, context.base) : withSupplement(chunk, helix)
    const events = [...this.#completeBlocks(() => true), event]
    this.#calls.clear()
    this.#stepIds.clear()
    this.#commits.clear()
    this.#drafts.end()
    return events
  }

  /** Ends an input whose text is complete. */
  #endInput(toolCallId: string, base: BaseChunk): readonly StreamChunkEvent[] {
    const call = this.#calls.get(toolCallId)
    if (!call?.isStreaming) return []
    call.isStreaming = false
    return [derived({ type: 'tool_arg_stream_end', toolCallId, ...base })]
  }

  /** Ends blocks that have no end of their own. */
  #completeBlocks(isIncluded: (block: ReasoningBlock) => boolean): StreamChunkEvent[] {
    const events: StreamChunkEvent[] = []
    for (const [key, block] of this.#openReasoning) {
      if (!isIncluded(block)) continue
      this.#openReasoning.delete(key)
      events.push(derived(completeThinking(block.pieces, block.base)))
    }
    return events
  }

  #commit(
    chunk: ChunkOf<'checkpoint-created'>,
    context: ChunkContext,
    lane: LaneId,
    { sequence = 0 }: DecodedChunk,
  ): readonly StreamChunkEvent[] {
    const { base, runId, stepId } = context
    const { checkpointId, stepCount = base.step, closesStep } = chunk
    this.#drafts.apply({ chunk, origin: lane })
    this.#commits.set(laneKeyOf(lane), {
      checkpointId,
      stepCount,
      messageCount: this.#messages,
      fromSequence: sequence,
    })
    const event = encoded(chunk, context)
    if (!closesStep) return [event]
    return [event, derived({ type: 'step_committed', runId, stepId, checkpointId, ...base })]
  }

  #discard(
    chunk: ChunkOf<'step-discarded'>,
    context: ChunkContext,
    lane: LaneId,
    { sequence = 0 }: DecodedChunk,
  ): readonly StreamChunkEvent[] {
    for (const [key, block] of this.#openReasoning) if (isSameLane(block.lane, lane)) this.#openReasoning.delete(key)
    const position = { ...(this.#commits.get(laneKeyOf(lane)) ?? this.#start), ...this.#options.placeOf?.(sequence) }
    this.#messages = position.messageCount
    const reason = this.#isSuperseded ? 'crash_recovery' : 'retry'
    const event = encoded(chunk, context)
    // A client that received nothing has nothing to reload (law 3).
    return this.#drafts.apply({ chunk, origin: lane }).discarded
      ? [event, resync(position, reason, context.base)]
      : [event]
  }

  #rewind(
    chunk: ChunkOf<'rewind'>,
    { base }: ChunkContext,
    { sequence = 0 }: DecodedChunk,
  ): readonly StreamChunkEvent[] {
    const position = { ...LOG_START, fromSequence: chunk.toSequence, ...this.#options.placeOf?.(sequence) }
    this.#messages = position.messageCount
    return [extension(chunk, base), resync(position, RESYNCS[chunk.reason] ?? 'rollback', base)]
  }
}

/** The error of a failed run without one. */
const RUN_FAILED = 'The run failed.'

/** The Helix names of an edit and of a resume from a checkpoint. */
const RESYNCS: { readonly [reason: string]: ResyncReason } = { retry: 'retry', edit: 'branch' }

const reasoningKey = ({ agentId }: BaseChunk, id: string): string => `${agentId} ${id}`

const callOf = ({ toolName, executor }: ChunkOf<'tool-input-start'> | ChunkOf<'tool-input-available'>) => ({
  toolName,
  executor,
})

const completeThinking = (pieces: readonly string[], base: BaseChunk): StreamChunk => ({
  type: 'thinking',
  content: pieces.join(''),
  isComplete: true,
  ...base,
})

const resync = (position: ResyncPosition, reason: ResyncReason, base: BaseChunk): StreamChunkEvent =>
  derived({ type: 'stream_resync', ...position, reason, ...base })

/** Marks an event that represents no chunk. */
const derived = (chunk: StreamChunk): StreamChunkEvent => ({
  type: 'chunk',
  chunk,
  millrace: null satisfies Supplement,
})

/** Wraps a chunk that Helix has no type for. */
const extension = (chunk: Chunk, base: BaseChunk): StreamChunkEvent => ({
  type: 'chunk',
  chunk: { type: 'custom', eventName: EXTENSION, data: { chunk }, ...base },
})

/** Encodes a chunk with its supplement. */
function withSupplement(chunk: Chunk, helix: StreamChunk): StreamChunkEvent {
  const supplement = supplementOf(chunk, eventToChunk(helix))
  return supplement === undefined
    ? { type: 'chunk', chunk: helix }
    : { type: 'chunk', chunk: helix, millrace: supplement }
}

/** Marks an event as ours even if it needs no supplement: a decoder takes an error of a foreign server for the end of the run. */
const withOwnMark = (event: StreamChunkEvent): StreamChunkEvent => ({ ...event, millrace: event.millrace ?? {} })

function encoded(chunk: Chunk, context: ChunkContext): StreamChunkEvent {
  const helix = chunkToEvent(chunk, context)
  return helix === undefined ? extension(chunk, context.base) : withSupplement(chunk, helix)
}
