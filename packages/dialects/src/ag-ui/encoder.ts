import type { Usage } from '@millrace/protocol'
import {
  type Chunk,
  type ChunkOf,
  DraftTracker,
  type Json,
  type LaneId,
  messageIdOf,
  type Origin,
  type RunStatus,
} from '@millrace/protocol'
import type { DecodedChunk, Encoder, EndStatus } from '../dialect/dialect.ts'
import { laneOf } from '../dialect/lane.ts'
import type { AgUiUsage } from './event.ts'
import {
  type AgUiEvent,
  type AgUiMessage,
  type AgUiOutcome,
  derived,
  type EventOf,
  EXTENSION,
  extension,
  PROTOCOL_VERSION,
  signedByGuest,
} from './event.ts'
import { annotated, annotatedEnd } from './event-to-chunk.ts'
import { PendingInterrupts } from './interrupts.ts'
import { OpenParts } from './open-parts.ts'
import { type AgUiDraft, AgUiToolCalls, type RunAgent } from './tool-calls.ts'
import { messageOf, Transcript } from './transcript.ts'

export interface AgUiEncoderOptions {
  /** The run, where it is known before anything of it is said. */
  readonly runId?: string
  /** What the client calls its thread and the run. */
  readonly echo?: { readonly threadId: string; readonly runId: string; readonly parentRunId?: string | undefined }
  /** What was there before the run, where it is known by now. */
  readonly before?: AgUiBefore
  /** The calls whose results the client has, since they came from it. */
  readonly results?: ReadonlySet<string>
  /** How a client is told of the calls that it is to run: as calls that are pending, or as interrupts. */
  readonly clientTools?: 'pending' | 'interrupts'
  /** Whether who goes on from a place has all that was open there: then nothing is said again. */
  readonly isContinued?: boolean
}

/** What was there before a run. */
export interface AgUiBefore {
  /** As clients have it: without it, a discard cannot be told. */
  readonly messages: readonly AgUiMessage[]
  /** Whether the client has yet to be told of those messages. */
  readonly isNew?: boolean
  /** The state, where the client has another. */
  readonly state?: Json | undefined
}

type Words = Extract<Chunk, { type: `${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}` }>
const NONE: readonly AgUiEvent[] = []

/** What an event says of a delta. */
const SAID: ReadonlySet<string> = new Set(['type', 'id', 'delta'])

/** Says a run as events of AG-UI. */
export class AgUiEncoder implements Encoder<AgUiEvent> {
  readonly #options: AgUiEncoderOptions
  #runId: string | undefined
  #isOpen = false
  #isOver = false
  #isTold = false
  #error: { readonly message: string; readonly code?: string } | undefined
  #output: Json | undefined
  readonly #speakers = new Map<string, RunAgent>()
  readonly #open = new OpenParts()
  readonly #waiting = new PendingInterrupts()
  readonly #used = new UsageByModel()
  #transcript: Transcript | undefined
  #before: AgUiBefore | undefined
  readonly #calls: AgUiToolCalls
  readonly #drafts = new DraftTracker<AgUiDraft>(({ lane }) => ({ lane, messages: new Map(), calls: new Set() }))

  constructor(options: AgUiEncoderOptions = {}) {
    this.#options = options
    this.#runId = options.runId
    this.#calls = new AgUiToolCalls(this.#open, options.results)
    if (options.before) this.follows(options.before)
  }

  /** Learns what was there before the run, before anything of it is said. */
  follows(before: AgUiBefore): void {
    this.#before = before
    this.#transcript = new Transcript(before.messages)
    this.#calls.transcript = this.#transcript
  }

  encode({ chunk, origin }: DecodedChunk): readonly AgUiEvent[] {
    this.#runId ??= origin?.runId ?? (chunk.type === 'run-requested' ? chunk.runId : '')
    const speaker = this.#speaker(origin)
    const lane = laneOf(origin)
    return this.#said(signedByGuest(this.#events(chunk, speaker, lane, origin), origin))
  }

  resume(): readonly AgUiEvent[] {
    this.#isOver = false
    this.#isOpen = true
    this.#isTold = true
    if (this.#options.isContinued) return NONE
    // Who is told of all that there is has been told of the results, too.
    const given = this.#before?.isNew ? NONE : this.#calls.given
    return [this.#started(), ...this.#telling(), ...this.#open.again(), ...given]
  }

  end(status: EndStatus): readonly AgUiEvent[] {
    return this.#said(this.#end(status))
  }

  /** Some events, after the one with which a run begins. */
  #said(events: readonly AgUiEvent[]): readonly AgUiEvent[] {
    if (events.length === 0 || this.#isOver) return NONE
    const last = (events.at(-1) as AgUiEvent).type
    if (last === 'RUN_FINISHED' || last === 'RUN_ERROR') this.#isOver = true
    if (this.#isOpen) return events
    this.#isOpen = true
    return [this.#started(), ...events]
  }

  #started(): AgUiEvent {
    const { threadId, runId, parentRunId } = this.#named
    const ours = { millrace: { runId: this.#runId ?? '' } }
    const parent = parentRunId === undefined ? {} : { parentRunId }
    return { type: 'RUN_STARTED', threadId, runId, protocolVersion: PROTOCOL_VERSION, ...parent, metadata: ours }
  }

  get #named() {
    const { echo } = this.#options
    return echo ?? { threadId: '', runId: this.#runId ?? '', parentRunId: undefined }
  }

  #speaker(origin: Origin | undefined): RunAgent {
    const runId = this.#runId ?? ''
    const agentId = origin && origin.guest === undefined && origin.agentId !== origin.runId ? origin.agentId : runId
    let speaker = this.#speakers.get(agentId)
    if (speaker === undefined) {
      const tag = agentId === runId ? {} : { subagentRunId: agentId }
      speaker = { prefix: `${messageIdOf(runId, agentId)}/`, tag, parent: undefined, named: undefined }
      this.#speakers.set(agentId, speaker)
    }
    return speaker
  }

  #events(chunk: Chunk, speaker: RunAgent, lane: LaneId, origin: Origin | undefined): readonly AgUiEvent[] {
    if (!chunk.type.endsWith('-delta')) this.#waiting.follow(chunk, speaker.tag.subagentRunId)
    switch (chunk.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-start':
      case 'reasoning-start':
      case 'text-end':
      case 'reasoning-end':
        return this.#words(chunk, speaker, lane)
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-available':
      case 'tool-input-error':
        return [...this.#untold(), ...this.#calls.input(chunk, speaker, this.#drafts.open(lane).kept)]
      case 'tool-output-available':
        return chunk.preliminary ? [extension(chunk, speaker.tag)] : this.#calls.result(chunk, speaker, origin)
      case 'tool-output-error':
      case 'tool-output-denied':
        return this.#calls.result(chunk, speaker, origin)
      case 'state-snapshot':
        return [...this.#untold(), annotated({ type: 'STATE_SNAPSHOT', snapshot: chunk.state, ...speaker.tag }, chunk)]
      case 'state-patch':
        return [...this.#untold(), annotated({ type: 'STATE_DELTA', delta: chunk.patches, ...speaker.tag }, chunk)]
      case 'step-start':
        return this.#step(chunk, speaker, lane.lane, origin)
      case 'step-finish':
        if (chunk.usage) this.#used.add(chunk.usage, origin?.guest === undefined ? origin?.model : undefined)
        return [extension(chunk, speaker.tag)]
      case 'checkpoint-created':
        this.#drafts.end({ chunk, origin: lane })
        return [extension(chunk, speaker.tag), ...(chunk.closesStep ? this.#open.endStep(lane.lane) : NONE)]
      case 'step-discarded':
        return [extension(chunk, speaker.tag), ...this.#discard(chunk, lane)]
      case 'subagent-start':
        return this.#delegate(chunk, speaker)
      case 'subagent-end':
        return this.#return(chunk)
      case 'message':
        this.#transcript?.add(messageOf(chunk))
        return [extension(chunk, speaker.tag)]
      case 'output':
        this.#output = chunk.output
        return [extension(chunk, speaker.tag)]
      case 'error':
        this.#error = { message: chunk.message, ...(chunk.code !== undefined && { code: chunk.code }) }
        return [extension(chunk, speaker.tag)]
      case 'run-paused':
        this.#calls.given = []
        return [extension(chunk, speaker.tag)]
      case 'run-finished':
        return this.#end(chunk.status, chunk)
      default:
        return [this.#custom(chunk, speaker)]
    }
  }

  /** An application's data under its own name, and else the chunk itself. */
  #custom(chunk: Chunk, { tag }: RunAgent): AgUiEvent {
    const name = chunk.type.startsWith('data-') ? chunk.type.slice('data-'.length) : EXTENSION
    if (name === EXTENSION || !('data' in chunk) || chunk.data === undefined) return extension(chunk, tag)
    return annotated({ type: 'CUSTOM', name, value: chunk.data as Json, ...tag }, chunk)
  }

  #words(chunk: Words, speaker: RunAgent, lane: LaneId): readonly AgUiEvent[] {
    const { id, type } = chunk
    if (speaker.named?.id !== id) speaker.named = { id, messageId: speaker.prefix + id }
    const { messageId } = speaker.named
    const role = type.startsWith('text') ? 'assistant' : 'reasoning'
    const isOpen = this.#open.isOpen(messageId, role)
    const draft = this.#drafts.open(lane).kept
    if (isOpen && (type === 'text-delta' || type === 'reasoning-delta')) {
      this.#transcript?.push(messageId, chunk.delta, draft.messages)
      return [this.#delta(chunk, messageId, speaker)]
    }
    const events: AgUiEvent[] = []
    const stands = (event: AgUiEvent): AgUiEvent => annotated(event, chunk, { id })
    const isStart = type.endsWith('start')
    if (isOpen && isStart) return [extension(chunk, speaker.tag)]
    if (!isOpen) {
      events.push(
        ...this.#untold(),
        ...this.#open.start(messageId, role, lane.lane, speaker.tag, isStart ? stands : derived),
      )
      if (role === 'assistant') speaker.parent = messageId
      this.#transcript?.open(messageId, role, draft.messages, speaker.tag.subagentRunId)
    }
    if (type === 'text-delta' || type === 'reasoning-delta') {
      this.#transcript?.push(messageId, chunk.delta, draft.messages)
      events.push(this.#delta(chunk, messageId, speaker))
    } else if (!isStart) events.push(...this.#open.end(messageId, role, stands))
    return events
  }

  #delta(chunk: Extract<Words, { delta: string }>, messageId: string, { tag }: RunAgent): AgUiEvent {
    const { id, delta } = chunk
    const type = chunk.type === 'text-delta' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
    const { subagentRunId } = tag
    const event: AgUiEvent =
      subagentRunId === undefined ? { type, messageId, delta } : { type, messageId, delta, subagentRunId }
    // Nearly all say no more than that.
    for (const key in chunk) if (!SAID.has(key)) return annotated(event, chunk, { id })
    return event
  }

  #step(chunk: ChunkOf<'step-start'>, speaker: RunAgent, lane: string, origin: Origin | undefined) {
    speaker.parent = undefined
    const number = origin?.guest === undefined ? origin?.step : undefined
    const stepName = chunk.stepId ?? `step ${number ?? ''}`.trim()
    const event = { type: 'STEP_STARTED', stepName, ...speaker.tag } as const
    return this.#open.startStep(event, lane, annotated(event, chunk))
  }

  #discard(chunk: ChunkOf<'step-discarded'>, lane: LaneId): readonly AgUiEvent[] {
    const closing = this.#open.endLane(lane.lane)
    const draft = this.#drafts.end({ chunk, origin: lane })[0]?.kept
    if (!draft) return closing
    this.#calls.discard(draft)
    for (const toolCallId of draft.calls) this.#waiting.drop(toolCallId)
    const reasonings = this.#transcript?.messages().filter(({ role }) => role === 'reasoning') ?? []
    if (!this.#transcript?.discard(draft.messages) || !this.#isTold) return closing
    const messages = this.#transcript.messages()
    // Clients keep the reasonings that they have where they are told of none: so those that are gone are told as empty.
    const isLeft = messages.some(({ role }) => role === 'reasoning')
    const emptied = isLeft ? [] : reasonings.map(message => ({ ...message, content: '' }) as AgUiMessage)
    return [...closing, { type: 'MESSAGES_SNAPSHOT', messages: [...messages, ...emptied] }]
  }

  #delegate(chunk: ChunkOf<'subagent-start'>, speaker: RunAgent): readonly AgUiEvent[] {
    const { agentId, agentType: name, toolCallId } = chunk
    const { subagentRunId: parent } = speaker.tag
    const isOwn = parent === agentId
    const event: EventOf<'SUBAGENT_STARTED'> = {
      type: 'SUBAGENT_STARTED',
      subagentRunId: agentId,
      name,
      parentToolCallId: toolCallId,
      ...(parent !== undefined && !isOwn && this.#open.hasAgent(parent) && { parentSubagentRunId: parent }),
    }
    if (!this.#open.startAgent(event)) return [extension(chunk, speaker.tag)]
    return [annotated(event, chunk)]
  }

  #return(chunk: ChunkOf<'subagent-end'>): readonly AgUiEvent[] {
    const { agentId, agentType, toolCallId, status, result, reason } = chunk
    const closing = this.#open.endAgent(agentId)
    if (!closing) return [extension(chunk, {})]
    const known = { agentType, toolCallId }
    const told = result === undefined || result === null ? {} : { result }
    const event: AgUiEvent =
      status === 'completed'
        ? { type: 'SUBAGENT_FINISHED', subagentRunId: agentId, outcome: { type: 'success' }, ...told }
        : { type: 'SUBAGENT_ERROR', subagentRunId: agentId, message: reason ?? ENDED[status], code: status }
    return [...closing, annotated(event, chunk, known)]
  }

  /** What the client is yet to be told of what was there before the run: before the first word. */
  #untold(): readonly AgUiEvent[] {
    if (this.#isTold) return NONE
    this.#isTold = true
    return this.#telling()
  }

  #telling(): readonly AgUiEvent[] {
    const { isNew, state } = this.#before ?? {}
    const events: AgUiEvent[] = []
    if (state !== undefined) events.push(derived({ type: 'STATE_SNAPSHOT', snapshot: state }))
    if (!isNew || !this.#transcript) return events
    // Clients leave what they have where it stands, and add what is new: what the run says itself is told after what was there before it.
    const all = this.#transcript.messages()
    const before = all.slice(0, this.#before?.messages.length)
    events.push({ type: 'MESSAGES_SNAPSHOT', messages: before })
    if (all.length > before.length) events.push({ type: 'MESSAGES_SNAPSHOT', messages: all })
    return events
  }

  #end(status: EndStatus, chunk?: ChunkOf<'run-finished'>): readonly AgUiEvent[] {
    const events = [...this.#untold()]
    const interrupts = this.#options.clientTools === 'interrupts' ? this.#waiting.calls : []
    const waits = status === 'paused' ? [...this.#waiting.questions, ...interrupts] : []
    events.push(...this.#open.endAll(status === 'paused' ? waits : undefined))
    if (status !== 'paused') events.push(...this.#calls.end())
    const { all } = this.#used
    const usage = all.length > 0 ? { usage: all } : {}
    const stands = (event: AgUiEvent): AgUiEvent => (chunk ? annotatedEnd(event, chunk) : derived(event))
    if (status === 'failed') {
      const { message, code } = this.#error ?? { message: chunk?.reason ?? 'The run failed.' }
      events.push(stands({ type: 'RUN_ERROR', message, ...(code !== undefined && { code }), ...usage }))
      return events
    }
    const { threadId, runId } = this.#named
    const outcome = this.#outcome(status, waits)
    const isSuccess = status === 'completed' && this.#output !== undefined && this.#output !== null
    const result = isSuccess ? { result: this.#output as Json } : {}
    events.push(stands({ type: 'RUN_FINISHED', threadId, runId, outcome, ...result, ...usage }))
    return events
  }

  #outcome(status: EndStatus, waits: readonly PendingInterrupts['calls'][number][]): AgUiOutcome {
    if (status === 'completed') return { type: 'success' }
    if (status !== 'paused') return { type: 'cancelled' }
    if (waits.length > 0) return { type: 'interrupt', interrupts: [...waits] }
    const pendingToolCallIds = this.#waiting.calls.flatMap(({ toolCallId = '' }) => [toolCallId])
    if (pendingToolCallIds.length > 0) return { type: 'success', pendingToolCallIds }
    return { type: 'interrupt', interrupts: [{ id: this.#runId ?? '', reason: 'paused' }] }
  }
}

const ENDED: Readonly<Record<RunStatus, string>> = {
  completed: '',
  failed: 'The sub-agent failed.',
  interrupted: 'The sub-agent was interrupted.',
  aborted: 'The sub-agent was aborted.',
}

const NAMES = {
  inputTokens: 'inputTokens',
  outputTokens: 'outputTokens',
  totalTokens: 'totalTokens',
  reasoningTokens: 'reasoningTokens',
  cachedTokens: 'cachedInputTokens',
  cacheWriteTokens: 'cacheWriteInputTokens',
} as const satisfies Record<keyof Usage, keyof AgUiUsage>

/** What a run used, by model. */
class UsageByModel {
  readonly #byModel = new Map<string | undefined, AgUiUsage>()

  add(usage: Usage, model: string | undefined): void {
    const sum: Record<string, unknown> = { ...(this.#byModel.get(model) ?? (model !== undefined && { model })) }
    for (const [ours, theirs] of Object.entries(NAMES) as [keyof Usage, string][]) {
      const count = usage[ours]
      if (count !== undefined) sum[theirs] = Math.min(((sum[theirs] as number) ?? 0) + count, Number.MAX_SAFE_INTEGER)
    }
    this.#byModel.set(model, sum)
  }

  get all(): AgUiUsage[] {
    return [...this.#byModel.values()]
  }
}
