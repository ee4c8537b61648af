import { type Chunk, type ChunkOf, DraftTracker, isWord, type Json, type LaneId } from '@millrace/protocol'
import { isSameLane, laneKeyOf } from '@millrace/protocol/internal'
import type { DecodedChunk, Encoder, EndStatus } from '../dialect/dialect.ts'
import { laneOf } from '../dialect/lane.ts'
import { type Supplement, supplementOf } from '../dialect/supplement.ts'
import type { BaseChunk, ResyncReason, StreamChunk } from './chunk.ts'
import type { StreamChunkEvent, StreamEvent } from './event.ts'
import { type About, EXTENSION, helixOf, plainOf } from './translate.ts'

/** How a session stood at a place: what Helix wants to tell of where somebody is taken back to. */
export interface ResyncPlace {
  readonly checkpointId: string
  readonly stepCount: number
  readonly messageCount: number
  readonly fromSequence: number
}

export interface HelixEncoderOptions {
  /** The run, where chunks come without one. */
  readonly runId?: string
  /** The agent, likewise. */
  readonly agentType?: string
  /** For who has the log: where the discard or rewind at that sequence took the session back to. Otherwise it is told as far as it was seen here. */
  readonly placeOf?: (sequence: number) => Partial<ResyncPlace> | undefined
}

interface HelixCall {
  readonly toolName: string
  readonly executor: string | undefined
  isStreaming: boolean
}

/** A block of thinking that is under way. */
interface Thought {
  readonly id: string
  readonly base: BaseChunk
  readonly lane: LaneId
  readonly pieces: string[]
}

/** An event that is still being made. */
type Mutable = { -readonly [K in keyof StreamChunkEvent]: StreamChunkEvent[K] }

const NONE: readonly StreamEvent[] = []
const NOWHERE: ResyncPlace = { checkpointId: '', stepCount: 0, messageCount: 0, fromSequence: 0 }

/** Says a session, run after run, as a stream of Helix. */
export class HelixEncoder implements Encoder<StreamEvent> {
  readonly #options: HelixEncoderOptions
  /** Who speaks, where a chunk does not say it: the last that did for a run. */
  #speaker: Pick<BaseChunk, 'agentId' | 'agentType' | 'step'>
  #runId: string
  readonly #calls = new Map<string, HelixCall>()
  readonly #thoughts = new Map<string, Thought>()
  /** Of each agent, where its steps have names. */
  readonly #stepIds = new Map<string, string>()
  /** Of each lane, what a discard goes back to. */
  readonly #commits = new Map<string, ResyncPlace>()
  /** The lanes that wrote something since their last commits. */
  readonly #drafts = new DraftTracker<undefined>(() => undefined)
  #start: ResyncPlace = NOWHERE
  #messages = 0
  #isSuperseded = false
  #output: Json | undefined
  #error = 'The run failed.'
  /** Why it was asked to stop, if anybody said. */
  #stopReason: string | undefined

  constructor(options: HelixEncoderOptions = {}) {
    this.#options = options
    const { runId = '', agentType = '' } = options
    this.#runId = runId
    this.#speaker = { agentId: runId, agentType, step: 0 }
  }

  encode(told: DecodedChunk): readonly StreamEvent[] {
    const { chunk, origin } = told
    const base = this.#base(told)
    const isGuests = origin?.guest !== undefined
    const isChild = origin !== undefined && !isGuests && origin.agentId !== origin.runId
    const about: About = {
      base,
      runId: this.#runId,
      stepId: this.#stepIds.get(base.agentId) ?? String(base.step),
      call: 'toolCallId' in chunk ? this.#calls.get(chunk.toolCallId) : undefined,
    }
    const events = this.#said(chunk, about, told) as Mutable[]
    const last = events[events.length - 1] as Mutable
    if (told.sequence !== undefined) last.sequence = told.sequence
    if (isChild || isGuests) for (const event of events) event.origin = origin
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
    if (origin === undefined || origin.guest !== undefined) return { ...this.#speaker, timestamp }
    const { agentId, agentType, step, runId } = origin
    if (agentId === runId) {
      this.#runId = runId
      this.#speaker = { agentId, agentType, step }
    }
    return { agentId, agentType, timestamp, step }
  }

  #said(chunk: Chunk, about: About, told: DecodedChunk): readonly StreamChunkEvent[] {
    const lane = laneOf(told.origin)
    const { base } = about
    // That a message begins is nothing to take back.
    if (chunk.type !== 'start' && isWord(chunk)) this.#drafts.open(lane)
    if (chunk.type !== 'step-discarded' && chunk.type !== 'executor-superseded') this.#isSuperseded = false
    switch (chunk.type) {
      case 'reasoning-start':
        this.#thoughts.set(thoughtOf(base, chunk.id), { id: chunk.id, base, lane, pieces: [] })
        return [extension(chunk, base)]
      case 'reasoning-delta': {
        const key = thoughtOf(base, chunk.id)
        const thought = this.#thoughts.get(key) ?? { id: chunk.id, base, lane, pieces: [] }
        thought.pieces.push(chunk.delta)
        this.#thoughts.set(key, thought)
        return [said(chunk, about)]
      }
      case 'reasoning-end': {
        const key = thoughtOf(base, chunk.id)
        const { pieces = [] } = this.#thoughts.get(key) ?? {}
        this.#thoughts.delete(key)
        return [beside(chunk, whole(pieces, base))]
      }
      case 'tool-input-start':
        this.#calls.set(chunk.toolCallId, { ...callOf(chunk), isStreaming: true })
        return [said(chunk, about)]
      case 'tool-input-available': {
        const events = [...this.#closed(chunk.toolCallId, base), said(chunk, about)]
        this.#calls.set(chunk.toolCallId, { ...callOf(chunk), isStreaming: false })
        return events
      }
      case 'tool-input-error':
        return [...this.#closed(chunk.toolCallId, base), said(chunk, about)]
      case 'step-start':
        if (chunk.stepId !== undefined) this.#stepIds.set(base.agentId, chunk.stepId)
        return [said(chunk, about)]
      case 'message':
      case 'start':
        this.#messages++
        return [extension(chunk, base)]
      case 'checkpoint-created':
        return this.#commit(chunk, about, lane, told)
      case 'step-discarded':
        return this.#discard(chunk, about, lane, told)
      case 'executor-superseded':
        this.#isSuperseded = true
        return [said(chunk, about)]
      case 'rewind':
        return this.#rewind(chunk, about, told)
      case 'subagent-start':
        this.#messages++
        return [said(chunk, about)]
      case 'subagent-end': {
        const thoughts = this.#wholes(({ base: { agentId } }) => agentId === chunk.agentId)
        this.#stepIds.delete(chunk.agentId)
        return [...thoughts, said(chunk, about)]
      }
      case 'output':
        if (base.agentId === this.#runId) this.#output = chunk.output
        return [said(chunk, about)]
      case 'error':
        this.#error = chunk.message
        return [said(chunk, about)]
      case 'stop-requested':
        if (chunk.runId === this.#runId) this.#stopReason = chunk.reason
        return [extension(chunk, base)]
      case 'run-started':
        return this.#begin(chunk, about, told)
      case 'run-finished':
        return this.#finish(chunk, about)
      default:
        return [said(chunk, about)]
    }
  }

  #begin(chunk: Chunk, { base }: About, { sequence = 0 }: DecodedChunk): readonly StreamChunkEvent[] {
    this.#output = undefined
    this.#stopReason = undefined
    this.#start = { ...NOWHERE, messageCount: this.#messages, fromSequence: sequence }
    return [extension(chunk, base)]
  }

  /** All of a run is over: nothing has to be known of it any more. */
  #finish(chunk: ChunkOf<'run-finished'>, about: About): readonly StreamChunkEvent[] {
    const { reason = this.#stopReason } = chunk
    const helix = helixOf(reason === undefined ? chunk : { ...chunk, reason }, about)
    const event = helix === undefined ? extension(chunk, about.base) : beside(chunk, helix)
    const events = [...this.#wholes(() => true), event]
    this.#calls.clear()
    this.#stepIds.clear()
    this.#commits.clear()
    this.#drafts.end()
    return events
  }

  /** Says that what was written of an input is all there is. */
  #closed(toolCallId: string, base: BaseChunk): readonly StreamChunkEvent[] {
    const call = this.#calls.get(toolCallId)
    if (!call?.isStreaming) return []
    call.isStreaming = false
    return [derived({ type: 'tool_arg_stream_end', toolCallId, ...base })]
  }

  /** Says that some blocks are whole, which nobody has said. */
  #wholes(isMeant: (thought: Thought) => boolean): StreamChunkEvent[] {
    const events: StreamChunkEvent[] = []
    for (const [key, thought] of this.#thoughts) {
      if (!isMeant(thought)) continue
      this.#thoughts.delete(key)
      events.push(derived(whole(thought.pieces, thought.base)))
    }
    return events
  }

  #commit(
    chunk: ChunkOf<'checkpoint-created'>,
    about: About,
    lane: LaneId,
    { sequence = 0 }: DecodedChunk,
  ): readonly StreamChunkEvent[] {
    const { base, runId, stepId } = about
    const { checkpointId, stepCount = base.step, closesStep } = chunk
    this.#drafts.end({ chunk, origin: lane })
    this.#commits.set(laneKeyOf(lane), {
      checkpointId,
      stepCount,
      messageCount: this.#messages,
      fromSequence: sequence,
    })
    const event = said(chunk, about)
    if (!closesStep) return [event]
    return [event, derived({ type: 'step_committed', runId, stepId, checkpointId, ...base })]
  }

  #discard(
    chunk: ChunkOf<'step-discarded'>,
    about: About,
    lane: LaneId,
    { sequence = 0 }: DecodedChunk,
  ): readonly StreamChunkEvent[] {
    for (const [key, thought] of this.#thoughts) if (isSameLane(thought.lane, lane)) this.#thoughts.delete(key)
    const place = { ...(this.#commits.get(laneKeyOf(lane)) ?? this.#start), ...this.#options.placeOf?.(sequence) }
    this.#messages = place.messageCount
    const reason = this.#isSuperseded ? 'crash_recovery' : 'retry'
    const event = said(chunk, about)
    // Who has had nothing of it has nothing to read again (law 3).
    return this.#drafts.end({ chunk, origin: lane }).length > 0 ? [event, resync(place, reason, about.base)] : [event]
  }

  #rewind(chunk: ChunkOf<'rewind'>, { base }: About, { sequence = 0 }: DecodedChunk): readonly StreamChunkEvent[] {
    const place = { ...NOWHERE, fromSequence: chunk.toSequence, ...this.#options.placeOf?.(sequence) }
    this.#messages = place.messageCount
    return [extension(chunk, base), resync(place, RESYNCS[chunk.reason] ?? 'rollback', base)]
  }
}

/** What Helix calls it to put another message in the place of one, and to go back to a checkpoint. */
const RESYNCS: { readonly [reason: string]: ResyncReason } = { retry: 'retry', edit: 'branch' }

const thoughtOf = ({ agentId }: BaseChunk, id: string): string => `${agentId} ${id}`

const callOf = ({ toolName, executor }: ChunkOf<'tool-input-start'> | ChunkOf<'tool-input-available'>) => ({
  toolName,
  executor,
})

const whole = (pieces: readonly string[], base: BaseChunk): StreamChunk => ({
  type: 'thinking',
  content: pieces.join(''),
  isComplete: true,
  ...base,
})

const resync = (place: ResyncPlace, reason: ResyncReason, base: BaseChunk): StreamChunkEvent =>
  derived({ type: 'stream_resync', ...place, reason, ...base })

/** An event that stands for no chunk of its own. */
const derived = (chunk: StreamChunk): StreamChunkEvent => ({
  type: 'chunk',
  chunk,
  millrace: null satisfies Supplement,
})

/** A chunk that Helix has nothing for. */
const extension = (chunk: Chunk, base: BaseChunk): StreamChunkEvent => ({
  type: 'chunk',
  chunk: { type: 'custom', eventName: EXTENSION, data: { chunk }, ...base },
})

/** A chunk as Helix says it, and the rest of it beside. */
function beside(chunk: Chunk, helix: StreamChunk): StreamChunkEvent {
  const aside = supplementOf(chunk, plainOf(helix))
  return aside === undefined ? { type: 'chunk', chunk: helix } : { type: 'chunk', chunk: helix, millrace: aside }
}

function said(chunk: Chunk, about: About): StreamChunkEvent {
  const helix = helixOf(chunk, about)
  return helix === undefined ? extension(chunk, about.base) : beside(chunk, helix)
}
