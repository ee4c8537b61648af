import {
  applyPatch,
  type Chunk,
  type Json,
  messageIdOf,
  type Origin,
  type PendingRef,
  ProtocolError,
} from '@millrace/protocol'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'
import { RunDecoder } from '../dialect/run-decoder.ts'
import { applySupplement } from '../dialect/supplement.ts'
import { expectOrigin, expectString, validated } from '../dialect/validate.ts'
import {
  clientToolRef,
  deadlineOf,
  expectInterrupts,
  interruptChunkOf,
  needsPerson,
  pendingCallIdsOf,
  requestInCustomEvent,
} from './decode/foreign-interrupts.ts'
import { chunksOf, diffSnapshot, historyChunksOf, StreamedParts } from './decode/snapshot-diff.ts'
import { type EventContext, eventToChunk, inputOf, outputOf } from './events/event-to-chunk.ts'
import { EXTENSION } from './events/extension.ts'
import type { AgUiEvent, AgUiInterrupt, AgUiMessage, EventOf } from './types.ts'

const NONE: readonly DecodedChunk[] = []

/** A call, with the text of its arguments so far. */
interface StreamedCall {
  readonly toolName: string
  text: string
}

interface Subagent {
  readonly agentType: string
  readonly toolCallId: string
  readonly origin: Origin
}

/** Decodes a stream of AG-UI, from Millrace or from a foreign server. */
export class AgUiDecoder extends RunDecoder<AgUiEvent> {
  /** The run id, if the server is a Millrace server. Message ids begin with it. */
  #runId: string | undefined
  #messageId: string | undefined
  /** What message ids begin with, by agent id. */
  readonly #prefixes = new Map<string, string>()
  /** Calls whose input is still streamed, by id. */
  readonly #calls = new Map<string, StreamedCall>()
  /** Calls with complete input and without a result, by id. */
  readonly #inputs = new Map<string, StreamedCall>()
  readonly #agents = new Map<string, Subagent>()
  readonly #activities = new Activities()
  /** Ids of messages with a role other than assistant. */
  readonly #nonAssistantMessages = new Set<string>()
  /** The pendings of a foreign server so far, in the order of their requests. */
  #awaits: PendingRef[] = []
  /** The open part of `*_CHUNK` events, which have no end event. */
  #openChunked: { readonly kind: 'text' | 'reasoning' | 'call'; readonly id: string } | undefined

  /** The messages of the request, to compare with a messages snapshot of a foreign server. */
  readonly #posted: readonly AgUiMessage[]
  readonly #streamed = new StreamedParts()
  #isHistoryEmitted = false

  constructor(posted: readonly AgUiMessage[] = []) {
    super()
    this.#posted = posted
  }

  protected override decodeNext(event: AgUiEvent): readonly DecodedChunk[] {
    if (typeof event?.type !== 'string')
      throw new ProtocolError('invalid-chunk', 'event: expected an object with a type')
    const decoded = this.#chunks(event)
    if (this.#runId === undefined)
      for (const { chunk, origin, isHistory } of decoded) if (!origin && !isHistory) this.#streamed.track(chunk)
    return decoded
  }

  #chunks(event: AgUiEvent): readonly DecodedChunk[] {
    // Fast path for text deltas: the checks below take longer than decoding.
    if (event.type === 'TEXT_MESSAGE_CONTENT' && !this.#openChunked) return this.#part(event)
    if (event.type.endsWith('_CHUNK')) return this.#chunkedEvent(event as ChunkedEvent)
    const first = this.#openChunked ? this.#endChunked() : NONE
    const decoded = this.#event(event)
    return first.length === 0 ? decoded : [...first, ...decoded]
  }

  #event(event: AgUiEvent): readonly DecodedChunk[] {
    switch (event.type) {
      case 'RUN_STARTED':
        return this.#started(event)
      case 'RUN_FINISHED':
        return this.#finished(event)
      case 'RUN_ERROR':
        return this.#failed(event)
      case 'ACTIVITY_SNAPSHOT':
      case 'ACTIVITY_DELTA': {
        const chunk = applySupplement(this.#activities.activityChunk(event), event.metadata?.millrace)
        return chunk === undefined ? NONE : [this.#decodedChunk(chunk, event)]
      }
      case 'TEXT_MESSAGE_START':
        if ((event.role ?? 'assistant') !== 'assistant') this.#nonAssistantMessages.add(event.messageId)
        return this.#part(event)
      case 'CUSTOM':
        expectString(event.name, 'event CUSTOM.name')
        return this.#custom(event)
      case 'TOOL_CALL_START':
        expectString(event.toolCallName, 'event TOOL_CALL_START.toolCallName')
        this.#calls.set(event.toolCallId, { toolName: event.toolCallName, text: '' })
        return this.#decodeWith(event, {})
      case 'TOOL_CALL_ARGS': {
        const call = this.#calls.get(event.toolCallId)
        if (call) call.text += expectString(event.delta, 'event TOOL_CALL_ARGS.delta')
        return this.#decodeWith(event, {})
      }
      case 'TOOL_CALL_END':
        return this.#callEnd(event)
      case 'TOOL_CALL_RESULT':
        this.#inputs.delete(event.toolCallId)
        return this.#decodeWith(event, { output: outputOf(event.content) })
      case 'MESSAGES_SNAPSHOT':
        return this.#runId === undefined ? this.#snapshot(event) : NONE
      case 'SUBAGENT_STARTED':
        return this.#agentStart(event)
      case 'SUBAGENT_FINISHED':
      case 'SUBAGENT_ERROR': {
        const { agentType = '', toolCallId = '' } = this.#agents.get(event.subagentRunId) ?? {}
        return this.#decodeWith(event, { agentType, toolCallId })
      }
      default:
        return this.#part(event)
    }
  }

  /** Decodes an event of a message part. Events of user messages are skipped. */
  #part(event: AgUiEvent): readonly DecodedChunk[] {
    if (!('messageId' in event) || event.messageId === undefined) return this.#decodeWith(event, {})
    if (this.#nonAssistantMessages.size > 0 && this.#nonAssistantMessages.has(event.messageId)) return NONE
    return this.#decodeWith(event, {
      id: this.#idOf(expectString(event.messageId, 'event.messageId'), event.subagentRunId),
    })
  }

  #decodeWith(event: AgUiEvent, context: Partial<EventContext>): readonly DecodedChunk[] {
    const chunk = applySupplement(eventToChunk(event, context as EventContext), event.metadata?.millrace)
    return chunk === undefined ? NONE : [this.#decodedChunk(chunk, event)]
  }

  #decodedChunk(chunk: Chunk, event: AgUiEvent): DecodedChunk {
    const guest = expectOrigin(event.metadata?.millraceOrigin)
    if (guest) return { chunk, origin: guest }
    const agentId = chunk.type.startsWith('subagent-') ? undefined : (event as { subagentRunId?: string }).subagentRunId
    const agent = agentId === undefined ? undefined : this.#agents.get(agentId)
    if (agent) return { chunk, origin: agent.origin }
    if (this.#runId === undefined && 'messageId' in event && typeof event.messageId === 'string')
      this.#messageId = event.messageId
    return this.#messageId === undefined ? { chunk } : { chunk, messageId: this.#messageId }
  }

  /** The part id in a message id. Message ids of a Millrace server begin with the run and the agent. */
  #idOf(messageId: string, subagentRunId: string | undefined): string {
    if (this.#runId === undefined) return messageId
    const agentId = subagentRunId ?? this.#runId
    let prefix = this.#prefixes.get(agentId)
    if (prefix === undefined) {
      prefix = `${messageIdOf(this.#runId, agentId)}/`
      this.#prefixes.set(agentId, prefix)
    }
    return messageId.startsWith(prefix) ? messageId.slice(prefix.length) : messageId
  }

  #started(event: EventOf<'RUN_STARTED'>): readonly DecodedChunk[] {
    this.endStatus = undefined
    const ours = event.metadata?.millrace as { readonly runId?: unknown } | null | undefined
    if (typeof ours?.runId !== 'string') return [{ chunk: { type: 'start' } }]
    this.#runId = ours.runId
    this.#messageId = messageIdOf(ours.runId, ours.runId)
    return NONE
  }

  #custom(event: EventOf<'CUSTOM'>): readonly DecodedChunk[] {
    if (event.name === EXTENSION) return this.#extension(event)
    const request = event.metadata?.millrace === undefined ? requestInCustomEvent(event) : undefined
    if (!request) return this.#decodeWith(event, {})
    this.endStatus = 'paused'
    return [this.#decodedChunk(request.chunk, event), this.#paused([request.awaits])]
  }

  #extension(event: EventOf<'CUSTOM'>): readonly DecodedChunk[] {
    const chunk = event.value as unknown as Chunk | undefined
    if (typeof chunk?.type !== 'string')
      throw new ProtocolError('invalid-chunk', `event CUSTOM ${EXTENSION}: expected a chunk as its value`)
    return [this.#decodedChunk(validated(chunk), event)]
  }

  /** The content of a messages snapshot that a foreign server did not stream. */
  #snapshot({ messages }: EventOf<'MESSAGES_SNAPSHOT'>): readonly DecodedChunk[] {
    const { history, retractsAll, parts } = diffSnapshot(messages, this.#posted, this.#streamed.parts)
    const decoded: DecodedChunk[] = this.#isHistoryEmitted
      ? []
      : historyChunksOf(history).map(chunk => ({ chunk, isHistory: true }))
    this.#isHistoryEmitted ||= history.length > 0
    if (retractsAll) {
      this.#streamed.clear()
      decoded.push({ chunk: { type: 'step-discarded', reason: 'messages-snapshot' }, retractsAll })
    }
    for (const part of parts) {
      const { kind, id, text } = part
      if (kind === 'call') this.#inputs.set(id, { toolName: part.name, text })
      decoded.push(...chunksOf(part).map(chunk => ({ chunk })))
    }
    return decoded
  }

  #callEnd(event: EventOf<'TOOL_CALL_END'>): readonly DecodedChunk[] {
    const { toolCallId } = event
    const call = this.#calls.get(toolCallId)
    this.#calls.delete(toolCallId)
    if (!call) return this.#decodeWith(event, { toolName: '', input: null })
    this.#inputs.set(toolCallId, call)
    // A supplement with the complete chunk makes parsing unnecessary.
    const supplement = event.metadata?.millrace
    const isSupplied = supplement === null || (typeof supplement === 'object' && 'type' in supplement)
    const input = isSupplied ? null : inputOf(call.text)
    return this.#decodeWith(event, { toolName: call.toolName, input })
  }

  #agentStart(event: EventOf<'SUBAGENT_STARTED'>): readonly DecodedChunk[] {
    const { subagentRunId: agentId, name: agentType, parentToolCallId: toolCallId = '' } = event
    const chunk = applySupplement(eventToChunk(event, {} as EventContext), event.metadata?.millrace)
    const lane = chunk?.type === 'subagent-start' ? (chunk.lane ?? agentId) : agentId
    const origin = expectOrigin({ runId: this.#runId ?? '', lane, agentId, agentType, step: 1 }) as Origin
    if (!this.#agents.has(agentId)) this.#agents.set(agentId, { agentType, toolCallId, origin })
    return chunk === undefined ? NONE : [this.#decodedChunk(chunk, event)]
  }

  #finished(event: EventOf<'RUN_FINISHED'>): readonly DecodedChunk[] {
    const { outcome, result, metadata } = event
    const supplement = metadata?.millrace
    const calls = outcome?.type === 'success' ? pendingCallIdsOf(outcome.pendingToolCallIds) : []
    if (outcome?.type === 'interrupt' || calls.length > 0) {
      this.endStatus = 'paused'
      if (supplement !== undefined) return NONE
      return [
        ...this.#requestsOf(outcome?.type === 'interrupt' ? outcome.interrupts : []),
        this.#paused(calls.map(clientToolRef)),
      ]
    }
    if (this.#awaits.length > 0 && outcome === undefined) {
      this.endStatus = 'paused'
      return NONE
    }
    const chunk = applySupplement(eventToChunk(event, {} as EventContext), supplement)
    this.endStatus = chunk?.type === 'run-finished' ? chunk.status : statusOf(event)
    const decoded = chunk === undefined ? [] : [this.#decodedChunk(chunk, event)]
    if (supplement !== undefined || result === undefined) return decoded
    return [this.#decodedChunk({ type: 'output', output: result }, event), ...decoded]
  }

  #failed(event: EventOf<'RUN_ERROR'>): readonly DecodedChunk[] {
    const supplement = event.metadata?.millrace
    const chunk = applySupplement(eventToChunk(event, {} as EventContext), supplement)
    this.end('failed')
    const decoded = chunk === undefined ? [] : [this.#decodedChunk(chunk, event)]
    if (supplement !== undefined) return decoded
    const { message, code } = event
    return [
      this.#decodedChunk(validated({ type: 'error', message, ...(code !== undefined && { code }) }), event),
      ...decoded,
    ]
  }

  /** The requests of the interrupts of a foreign server. */
  #requestsOf(interrupts: readonly AgUiInterrupt[]): readonly DecodedChunk[] {
    const decoded: DecodedChunk[] = []
    for (const interrupt of expectInterrupts(interrupts)) {
      const { id, toolCallId } = interrupt
      const request = this.#approvalRequestOf(interrupt)
      if (toolCallId !== undefined && !needsPerson(interrupt)) this.#awaits.push(clientToolRef(toolCallId))
      else if (toolCallId !== undefined && request) this.#awaits.push({ kind: 'approval', id, toolCallId })
      else this.#awaits.push({ kind: 'interrupt', id })
      if (needsPerson(interrupt)) decoded.push({ chunk: validated(request ?? interruptChunkOf(interrupt)) })
    }
    return decoded
  }

  /** Creates a `run-paused` chunk with all pendings. Open calls that are not among them belong to the server. */
  #paused(more: readonly PendingRef[]): DecodedChunk {
    this.#awaits.push(...more)
    return { chunk: validated({ type: 'run-paused', awaits: [...this.#awaits] }) }
  }

  /** The approval request of an interrupt. Undefined if it belongs to no call. */
  #approvalRequestOf({ id: approvalId, toolCallId, expiresAt, metadata }: AgUiInterrupt): Chunk | undefined {
    if (toolCallId === undefined) return undefined
    const call = this.#inputs.get(toolCallId)
    const { toolName = call?.toolName, input = call && inputOf(call.text) } = metadata ?? {}
    if (typeof toolName !== 'string' || input === undefined) return undefined
    return { type: 'tool-approval-request', toolCallId, toolName, approvalId, input, ...deadlineOf(expiresAt) }
  }

  /** Decodes a `*_CHUNK` event, which has no start and no end. */
  #chunkedEvent(event: ChunkedEvent): readonly DecodedChunk[] {
    const kind = event.type === 'TOOL_CALL_CHUNK' ? 'call' : event.type === 'TEXT_MESSAGE_CHUNK' ? 'text' : 'reasoning'
    const explicitId = event.type === 'TOOL_CALL_CHUNK' ? event.toolCallId : event.messageId
    const isNewPart =
      this.#openChunked &&
      (this.#openChunked.kind !== kind || (explicitId ?? this.#openChunked.id) !== this.#openChunked.id)
    const decoded: DecodedChunk[] = isNewPart ? [...this.#endChunked()] : []
    const id = explicitId ?? this.#openChunked?.id
    if (typeof id !== 'string')
      throw new ProtocolError(
        'invalid-chunk',
        `event ${event.type}: expected an id in the first event of a message or call`,
      )
    if (!this.#openChunked) {
      this.#openChunked = { kind, id }
      decoded.push(...this.#event(startOf(event, kind, id)))
    }
    const { delta } = event
    if (delta !== undefined) decoded.push(...this.#event(deltaOf(kind, id, delta)))
    return decoded
  }

  #endChunked(): readonly DecodedChunk[] {
    const { kind, id } = this.#openChunked as { kind: 'text' | 'reasoning' | 'call'; id: string }
    this.#openChunked = undefined
    if (kind === 'call') return this.#event({ type: 'TOOL_CALL_END', toolCallId: id })
    return this.#event({ type: kind === 'text' ? 'TEXT_MESSAGE_END' : 'REASONING_MESSAGE_END', messageId: id })
  }
}

function statusOf({ outcome }: EventOf<'RUN_FINISHED'>): EndStatus {
  return outcome?.type === 'cancelled' ? 'interrupted' : 'completed'
}

type ChunkedEvent = EventOf<'TEXT_MESSAGE_CHUNK' | 'REASONING_MESSAGE_CHUNK' | 'TOOL_CALL_CHUNK'>

function startOf(event: ChunkedEvent, kind: 'text' | 'reasoning' | 'call', id: string): AgUiEvent {
  if (kind === 'text') return { type: 'TEXT_MESSAGE_START', messageId: id }
  if (kind === 'reasoning') return { type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning' }
  const { toolCallName = '' } = event as EventOf<'TOOL_CALL_CHUNK'>
  return { type: 'TOOL_CALL_START', toolCallId: id, toolCallName }
}

function deltaOf(kind: 'text' | 'reasoning' | 'call', id: string, delta: string): AgUiEvent {
  if (kind === 'call') return { type: 'TOOL_CALL_ARGS', toolCallId: id, delta }
  return { type: kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT', messageId: id, delta }
}

/** Activities of a foreign server. Each one is a data part that later events replace. */
class Activities {
  readonly #contents = new Map<string, Json>()

  /** Undefined if there is nothing to show. */
  activityChunk(event: EventOf<'ACTIVITY_SNAPSHOT' | 'ACTIVITY_DELTA'>): Chunk | undefined {
    const kind = expectString(event.activityType, `event ${event.type}.activityType`)
    const id = expectString(event.messageId, `event ${event.type}.messageId`)
    const data = event.type === 'ACTIVITY_SNAPSHOT' ? this.#snapshotContent(event) : this.#patchedContent(event)
    if (data === undefined) return undefined
    this.#contents.set(id, data)
    return { type: `data-${kind}`, id, data }
  }

  #snapshotContent({ messageId, content, replace }: EventOf<'ACTIVITY_SNAPSHOT'>): Json | undefined {
    return replace === false && this.#contents.has(messageId) ? undefined : (content ?? null)
  }

  /** A patch that does not apply is skipped, as the clients of AG-UI do. */
  #patchedContent({ messageId, patch }: EventOf<'ACTIVITY_DELTA'>): Json | undefined {
    const content = this.#contents.get(messageId)
    if (content === undefined) return undefined
    try {
      return applyPatch(content, patch)
    } catch {
      return undefined
    }
  }
}
