import {
  type Chunk,
  type ChunkOf,
  type Json,
  messageIdOf,
  type Origin,
  type RunStatus,
  type Usage,
} from '@millrace/protocol'
import { DraftTracker, type LaneId } from '@millrace/protocol/internal'
import type { DecodedChunk, Encoder, EndStatus } from '../dialect/dialect.ts'
import { laneOf, subAgentIdOf } from '../dialect/lane.ts'
import { OpenParts } from './encode/open-parts.ts'
import { type AgUiDraft, AgUiToolCalls, type RunAgent } from './encode/tool-calls.ts'
import { Transcript } from './encode/transcript.ts'
import { annotated, annotatedEnd } from './events/event-to-chunk.ts'
import { derived, EXTENSION, extension, withGuestMetadata } from './events/extension.ts'
import { PendingInterrupts } from './events/interrupts.ts'
import { messageOf } from './messages/agui-messages.ts'
import type { AgUiEvent, AgUiMessage, AgUiOutcome, AgUiUsage, EventOf } from './types.ts'

/** The version of AG-UI that the events follow. */
const PROTOCOL_VERSION = '1.0'

/** Options of an encoder for AG-UI. */
export interface AgUiEncoderOptions {
  /** The id of the run, if it is known before its first chunk. @default the run id of the first chunk */
  readonly runId?: string
  /** The client's ids of the thread and the run. They are sent back to it. @default none */
  readonly echo?: { readonly threadId: string; readonly runId: string; readonly parentRunId?: string | undefined }
  /** Messages and state before the run, if already known. @default none */
  readonly before?: AgUiHistory
  /** Ids of the calls that this client answered. Their results are not sent back. @default none */
  readonly results?: ReadonlySet<string>
  /** How client tool calls are sent: as pending calls or as interrupts. @default 'pending' */
  readonly clientTools?: 'pending' | 'interrupts'
  /** Whether a resumed client still has everything open. Nothing is repeated then. @default false */
  readonly isContinued?: boolean
}

/** Messages and state before a run. */
export interface AgUiHistory {
  /** Required to encode a discard, which sends all remaining messages. */
  readonly messages: readonly AgUiMessage[]
  /** Whether the client does not have these messages. @default false */
  readonly isNew?: boolean
  /** The state, if the client has another one. */
  readonly state?: Json | undefined
}

type TextChunk = Extract<Chunk, { type: `${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}` }>
const NONE: readonly AgUiEvent[] = []

/** Fields of a delta that its event has. */
const DELTA_FIELDS: ReadonlySet<string> = new Set(['type', 'id', 'delta'])

/** Encodes a run as events of AG-UI. */
export class AgUiEncoder implements Encoder<AgUiEvent> {
  readonly #options: AgUiEncoderOptions
  #runId: string | undefined
  #isOpen = false
  #isOver = false
  #hasInitialEvents = false
  #error: { readonly message: string; readonly code?: string } | undefined
  #output: Json | undefined
  readonly #agents = new Map<string, RunAgent>()
  readonly #open = new OpenParts()
  readonly #pendings = new PendingInterrupts()
  readonly #usage = new UsageByModel()
  #transcript: Transcript | undefined
  #before: AgUiHistory | undefined
  readonly #calls: AgUiToolCalls
  readonly #drafts = new DraftTracker<AgUiDraft>(({ lane }) => ({ lane, messages: new Map(), calls: new Set() }))

  constructor(options: AgUiEncoderOptions = {}) {
    this.#options = options
    this.#runId = options.runId
    this.#calls = new AgUiToolCalls(this.#open, options.results)
    if (options.before) this.setBefore(options.before)
  }

  /** Sets the messages and state before the run. Call it before the first `encode`. */
  setBefore(before: AgUiHistory): void {
    this.#before = before
    this.#transcript = new Transcript(before.messages)
    this.#calls.transcript = this.#transcript
  }

  encode({ chunk, origin }: DecodedChunk): readonly AgUiEvent[] {
    this.#runId ??= origin?.runId ?? (chunk.type === 'run-requested' ? chunk.runId : '')
    const agent = this.#agentOf(origin)
    const lane = laneOf(origin)
    return this.#withStart(withGuestMetadata(this.#events(chunk, agent, lane, origin), origin))
  }

  resume(): readonly AgUiEvent[] {
    this.#isOver = false
    this.#isOpen = true
    this.#hasInitialEvents = true
    if (this.#options.isContinued) return NONE
    // A client that gets all messages gets the results with them.
    const results = this.#before?.isNew ? NONE : this.#calls.guestResults
    return [this.#started(), ...this.#initialEvents(), ...this.#open.reopened(), ...results]
  }

  end(status: EndStatus): readonly AgUiEvent[] {
    return this.#withStart(this.#endEvents(status))
  }

  /** Puts RUN_STARTED before the first events. */
  #withStart(events: readonly AgUiEvent[]): readonly AgUiEvent[] {
    if (events.length === 0 || this.#isOver) return NONE
    const last = (events.at(-1) as AgUiEvent).type
    if (last === 'RUN_FINISHED' || last === 'RUN_ERROR') this.#isOver = true
    if (this.#isOpen) return events
    this.#isOpen = true
    return [this.#started(), ...events]
  }

  #started(): AgUiEvent {
    const { threadId, runId, parentRunId } = this.#ids
    const metadata = { millrace: { runId: this.#runId ?? '' } }
    const parent = parentRunId === undefined ? {} : { parentRunId }
    return { type: 'RUN_STARTED', threadId, runId, protocolVersion: PROTOCOL_VERSION, ...parent, metadata }
  }

  get #ids() {
    const { echo } = this.#options
    return echo ?? { threadId: '', runId: this.#runId ?? '', parentRunId: undefined }
  }

  #agentOf(origin: Origin | undefined): RunAgent {
    const runId = this.#runId ?? ''
    const agentId = subAgentIdOf(origin) ?? runId
    let agent = this.#agents.get(agentId)
    if (agent === undefined) {
      const tag = agentId === runId ? {} : { subagentRunId: agentId }
      agent = { prefix: `${messageIdOf(runId, agentId)}/`, tag, parent: undefined, lastPart: undefined }
      this.#agents.set(agentId, agent)
    }
    return agent
  }

  #events(chunk: Chunk, agent: RunAgent, lane: LaneId, origin: Origin | undefined): readonly AgUiEvent[] {
    if (!chunk.type.endsWith('-delta')) this.#pendings.track(chunk, agent.tag.subagentRunId)
    switch (chunk.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'text-start':
      case 'reasoning-start':
      case 'text-end':
      case 'reasoning-end':
        return this.#textEvents(chunk, agent, lane)
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-available':
      case 'tool-input-error':
        return [...this.#initialEventsOnce(), ...this.#calls.input(chunk, agent, this.#drafts.open(lane).data)]
      case 'tool-output-available':
        return chunk.preliminary ? [extension(chunk, agent.tag)] : this.#calls.result(chunk, agent, origin)
      case 'tool-output-error':
      case 'tool-output-denied':
        return this.#calls.result(chunk, agent, origin)
      case 'state-snapshot':
        return [
          ...this.#initialEventsOnce(),
          annotated({ type: 'STATE_SNAPSHOT', snapshot: chunk.state, ...agent.tag }, chunk),
        ]
      case 'state-patch':
        return [
          ...this.#initialEventsOnce(),
          annotated({ type: 'STATE_DELTA', delta: chunk.patches, ...agent.tag }, chunk),
        ]
      case 'step-start':
        return this.#step(chunk, agent, lane.lane, origin)
      case 'step-finish':
        if (chunk.usage) this.#usage.add(chunk.usage, origin?.guest === undefined ? origin?.model : undefined)
        return [extension(chunk, agent.tag)]
      case 'checkpoint-created':
        this.#drafts.apply({ chunk, origin: lane })
        return [extension(chunk, agent.tag), ...(chunk.closesStep ? this.#open.endStep(lane.lane) : NONE)]
      case 'step-discarded':
        return [extension(chunk, agent.tag), ...this.#discard(chunk, lane)]
      case 'subagent-start':
        return this.#subagentStart(chunk, agent)
      case 'subagent-end':
        return this.#subagentEnd(chunk)
      case 'message':
        this.#transcript?.add(messageOf(chunk))
        return [extension(chunk, agent.tag)]
      case 'output':
        this.#output = chunk.output
        return [extension(chunk, agent.tag)]
      case 'error':
        // The error of a sub-agent does not replace that of the run.
        if (agent.tag.subagentRunId === undefined)
          this.#error = { message: chunk.message, ...(chunk.code !== undefined && { code: chunk.code }) }
        return [extension(chunk, agent.tag)]
      case 'run-paused':
        this.#calls.guestResults = []
        return [extension(chunk, agent.tag)]
      case 'run-finished':
        return this.#endEvents(chunk.status, chunk)
      default:
        return [this.#custom(chunk, agent)]
    }
  }

  /** Custom data under its own name, any other chunk as an extension. */
  #custom(chunk: Chunk, { tag }: RunAgent): AgUiEvent {
    const name = chunk.type.startsWith('data-') ? chunk.type.slice('data-'.length) : EXTENSION
    if (name === EXTENSION || !('data' in chunk) || chunk.data === undefined) return extension(chunk, tag)
    return annotated({ type: 'CUSTOM', name, value: chunk.data as Json, ...tag }, chunk)
  }

  #textEvents(chunk: TextChunk, agent: RunAgent, lane: LaneId): readonly AgUiEvent[] {
    const { id, type } = chunk
    if (agent.lastPart?.id !== id) agent.lastPart = { id, messageId: agent.prefix + id }
    const { messageId } = agent.lastPart
    const role = type.startsWith('text') ? 'assistant' : 'reasoning'
    const isOpen = this.#open.isOpen(messageId, role)
    const draft = this.#drafts.open(lane).data
    if (isOpen && (type === 'text-delta' || type === 'reasoning-delta')) {
      this.#transcript?.push(messageId, chunk.delta, draft.messages)
      return [this.#delta(chunk, messageId, agent)]
    }
    const events: AgUiEvent[] = []
    const annotate = (event: AgUiEvent): AgUiEvent => annotated(event, chunk, { id })
    const isStart = type.endsWith('start')
    if (isOpen && isStart) return [extension(chunk, agent.tag)]
    if (!isOpen) {
      events.push(
        ...this.#initialEventsOnce(),
        ...this.#open.start(messageId, role, lane.lane, agent.tag, isStart ? annotate : derived),
      )
      if (role === 'assistant') agent.parent = messageId
      this.#transcript?.open(messageId, role, draft.messages, agent.tag.subagentRunId)
    }
    if (type === 'text-delta' || type === 'reasoning-delta') {
      this.#transcript?.push(messageId, chunk.delta, draft.messages)
      events.push(this.#delta(chunk, messageId, agent))
    } else if (!isStart) events.push(...this.#open.end(messageId, role, annotate))
    return events
  }

  #delta(chunk: Extract<TextChunk, { delta: string }>, messageId: string, { tag }: RunAgent): AgUiEvent {
    const { id, delta } = chunk
    const type = chunk.type === 'text-delta' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
    const { subagentRunId } = tag
    const event: AgUiEvent =
      subagentRunId === undefined ? { type, messageId, delta } : { type, messageId, delta, subagentRunId }
    // Fast path: most deltas have no other fields.
    for (const key in chunk) if (!DELTA_FIELDS.has(key)) return annotated(event, chunk, { id })
    return event
  }

  #step(chunk: ChunkOf<'step-start'>, agent: RunAgent, lane: string, origin: Origin | undefined) {
    agent.parent = undefined
    const number = origin?.guest === undefined ? origin?.step : undefined
    const stepName = chunk.stepId ?? `step ${number ?? ''}`.trim()
    const event = { type: 'STEP_STARTED', stepName, ...agent.tag } as const
    return this.#open.startStep(event, lane, annotated(event, chunk))
  }

  #discard(chunk: ChunkOf<'step-discarded'>, lane: LaneId): readonly AgUiEvent[] {
    const closing = this.#open.endLane(lane.lane)
    const draft = this.#drafts.apply({ chunk, origin: lane }).discarded?.data
    if (!draft) return closing
    this.#calls.discard(draft)
    for (const toolCallId of draft.calls) this.#pendings.drop(toolCallId)
    const reasonings = this.#transcript?.messages().filter(({ role }) => role === 'reasoning') ?? []
    if (!this.#transcript?.discard(draft.messages) || !this.#hasInitialEvents) return closing
    const messages = this.#transcript.messages()
    // Clients keep their reasoning if a snapshot has none, so removed reasoning is sent as empty.
    const hasReasoning = messages.some(({ role }) => role === 'reasoning')
    const emptyReasoning = hasReasoning ? [] : reasonings.map(message => ({ ...message, content: '' }) as AgUiMessage)
    return [...closing, { type: 'MESSAGES_SNAPSHOT', messages: [...messages, ...emptyReasoning] }]
  }

  #subagentStart(chunk: ChunkOf<'subagent-start'>, agent: RunAgent): readonly AgUiEvent[] {
    const { agentId, agentType: name, toolCallId } = chunk
    const { subagentRunId: parent } = agent.tag
    const isOwn = parent === agentId
    const event: EventOf<'SUBAGENT_STARTED'> = {
      type: 'SUBAGENT_STARTED',
      subagentRunId: agentId,
      name,
      parentToolCallId: toolCallId,
      ...(parent !== undefined && !isOwn && this.#open.hasAgent(parent) && { parentSubagentRunId: parent }),
    }
    if (!this.#open.startAgent(event)) return [extension(chunk, agent.tag)]
    return [annotated(event, chunk)]
  }

  #subagentEnd(chunk: ChunkOf<'subagent-end'>): readonly AgUiEvent[] {
    const { agentId, agentType, toolCallId, status, result, reason } = chunk
    const closing = this.#open.endAgent(agentId)
    if (!closing) return [extension(chunk, {})]
    const context = { agentType, toolCallId }
    const resultField = result === undefined || result === null ? {} : { result }
    const event: AgUiEvent =
      status === 'completed'
        ? { type: 'SUBAGENT_FINISHED', subagentRunId: agentId, outcome: { type: 'success' }, ...resultField }
        : { type: 'SUBAGENT_ERROR', subagentRunId: agentId, message: reason ?? END_MESSAGES[status], code: status }
    return [...closing, annotated(event, chunk, context)]
  }

  /** The messages and state before the run that the client does not have. Sent before the first content. */
  #initialEventsOnce(): readonly AgUiEvent[] {
    if (this.#hasInitialEvents) return NONE
    this.#hasInitialEvents = true
    return this.#initialEvents()
  }

  #initialEvents(): readonly AgUiEvent[] {
    const { isNew, state } = this.#before ?? {}
    const events: AgUiEvent[] = []
    if (state !== undefined) events.push(derived({ type: 'STATE_SNAPSHOT', snapshot: state }))
    if (!isNew || !this.#transcript) return events
    // Clients keep the order that they have and append new messages: the messages before the run are sent first.
    const all = this.#transcript.messages()
    const before = all.slice(0, this.#before?.messages.length)
    events.push({ type: 'MESSAGES_SNAPSHOT', messages: before })
    if (all.length > before.length) events.push({ type: 'MESSAGES_SNAPSHOT', messages: all })
    return events
  }

  #endEvents(status: EndStatus, chunk?: ChunkOf<'run-finished'>): readonly AgUiEvent[] {
    const events = [...this.#initialEventsOnce()]
    const clientCalls = this.#options.clientTools === 'interrupts' ? this.#pendings.calls : []
    const interrupts = status === 'paused' ? [...this.#pendings.questions, ...clientCalls] : []
    events.push(...this.#open.endAll(status === 'paused' ? interrupts : undefined))
    if (status !== 'paused') events.push(...this.#calls.end())
    const { all } = this.#usage
    const usage = all.length > 0 ? { usage: all } : {}
    const annotate = (event: AgUiEvent): AgUiEvent => (chunk ? annotatedEnd(event, chunk) : derived(event))
    if (status === 'failed') {
      const { message, code } = this.#error ?? { message: chunk?.reason ?? 'The run failed.' }
      events.push(annotate({ type: 'RUN_ERROR', message, ...(code !== undefined && { code }), ...usage }))
      return events
    }
    const { threadId, runId } = this.#ids
    const outcome = this.#outcome(status, interrupts)
    const isSuccess = status === 'completed' && this.#output !== undefined && this.#output !== null
    const result = isSuccess ? { result: this.#output as Json } : {}
    events.push(annotate({ type: 'RUN_FINISHED', threadId, runId, outcome, ...result, ...usage }))
    return events
  }

  #outcome(status: EndStatus, interrupts: readonly PendingInterrupts['calls'][number][]): AgUiOutcome {
    if (status === 'completed') return { type: 'success' }
    if (status !== 'paused') return { type: 'cancelled' }
    if (interrupts.length > 0) return { type: 'interrupt', interrupts: [...interrupts] }
    const pendingToolCallIds = this.#pendings.calls.flatMap(({ toolCallId = '' }) => [toolCallId])
    if (pendingToolCallIds.length > 0) return { type: 'success', pendingToolCallIds }
    return { type: 'interrupt', interrupts: [{ id: this.#runId ?? '', reason: 'paused' }] }
  }
}

const END_MESSAGES: Readonly<Record<RunStatus, string>> = {
  completed: '',
  failed: 'The sub-agent failed.',
  interrupted: 'The sub-agent was interrupted.',
  aborted: 'The sub-agent was aborted.',
}

const USAGE_FIELDS = {
  inputTokens: 'inputTokens',
  outputTokens: 'outputTokens',
  totalTokens: 'totalTokens',
  reasoningTokens: 'reasoningTokens',
  cachedTokens: 'cachedInputTokens',
  cacheWriteTokens: 'cacheWriteInputTokens',
} as const satisfies Record<keyof Usage, keyof AgUiUsage>

/** Token usage of a run by model. */
class UsageByModel {
  readonly #byModel = new Map<string | undefined, AgUiUsage>()

  add(usage: Usage, model: string | undefined): void {
    const sum: Record<string, unknown> = { ...(this.#byModel.get(model) ?? (model !== undefined && { model })) }
    for (const [ours, theirs] of Object.entries(USAGE_FIELDS) as [keyof Usage, string][]) {
      const count = usage[ours]
      if (count !== undefined) sum[theirs] = Math.min(((sum[theirs] as number) ?? 0) + count, Number.MAX_SAFE_INTEGER)
    }
    this.#byModel.set(model, sum)
  }

  get all(): AgUiUsage[] {
    return [...this.#byModel.values()]
  }
}
