import {
  applyPatch,
  type Chunk,
  type Json,
  messageIdOf,
  type Origin,
  type PendingRef,
  ProtocolError,
} from '@millrace/protocol'
import type { DecodedChunk, Decoder, EndStatus } from '../dialect/dialect.ts'
import { chunkMeant } from '../dialect/supplement.ts'
import { expectOrigin, expectString, validated } from '../dialect/validate.ts'
import { askedBy, asksPeople, callsIn, clientCall, deadlineOf, interruptsIn, questionOf } from './asked.ts'
import { type AgUiEvent, type AgUiInterrupt, type AgUiMessage, type EventOf, EXTENSION } from './event.ts'
import { chunkOf, type EventContext, jsonOf, outputOf } from './event-to-chunk.ts'
import { chunksOf, diffSnapshot, pastChunksOf, ReceivedFacts } from './snapshot-diff.ts'

const NONE: readonly DecodedChunk[] = []

/** A call whose arguments are on their way. */
interface StreamedCall {
  readonly toolName: string
  text: string
}

interface Subagent {
  readonly agentType: string
  readonly toolCallId: string
  readonly origin: Origin
}

/** Understands a stream of AG-UI: ours, or that of another server. */
export class AgUiDecoder implements Decoder<AgUiEvent> {
  #status: EndStatus | undefined
  /** Our own run, where it is one: its messages go by its name. */
  #runId: string | undefined
  #messageId: string | undefined
  readonly #prefixes = new Map<string, string>()
  readonly #calls = new Map<string, StreamedCall>()
  readonly #inputs = new Map<string, StreamedCall>()
  readonly #agents = new Map<string, Subagent>()
  readonly #activities = new Activities()
  /** The messages that are not the agent's own. */
  readonly #others = new Set<string>()
  /** What another server has said that it waits for. */
  #awaits: PendingRef[] = []
  /** What is told in pieces of which none says where it ends. */
  #piecewise: { readonly kind: 'text' | 'reasoning' | 'call'; readonly id: string } | undefined

  /** What the server was asked with, and what of another's it has said: a snapshot of messages may say more. */
  readonly #posted: readonly AgUiMessage[]
  readonly #heard = new ReceivedFacts()
  #isPastTold = false

  constructor(posted: readonly AgUiMessage[] = []) {
    this.#posted = posted
  }

  get status(): EndStatus | undefined {
    return this.#status
  }

  decode(event: AgUiEvent): readonly DecodedChunk[] {
    if (typeof event?.type !== 'string')
      throw new ProtocolError('invalid-chunk', 'event: expected an object with a type')
    const told = this.#decoded(event)
    if (this.#runId === undefined)
      for (const { chunk, origin, isHistory } of told) if (!origin && !isHistory) this.#heard.follow(chunk)
    return told
  }

  #decoded(event: AgUiEvent): readonly DecodedChunk[] {
    // Most of what is said: not worth asking what else it might be, which takes longer than to read it.
    if (event.type === 'TEXT_MESSAGE_CONTENT' && !this.#piecewise) return this.#part(event)
    if (event.type.endsWith('_CHUNK')) return this.#piece(event as EventOf<'TEXT_MESSAGE_CHUNK' | 'TOOL_CALL_CHUNK'>)
    const first = this.#piecewise ? this.#endPiece() : NONE
    const told = this.#event(event)
    return first.length === 0 ? told : [...first, ...told]
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
        const chunk = chunkMeant(this.#activities.chunkOf(event), event.metadata?.millrace)
        return chunk === undefined ? NONE : [this.#told(chunk, event)]
      }
      case 'TEXT_MESSAGE_START':
        if ((event.role ?? 'assistant') !== 'assistant') this.#others.add(event.messageId)
        return this.#part(event)
      case 'CUSTOM':
        expectString(event.name, 'event CUSTOM.name')
        return this.#custom(event)
      case 'TOOL_CALL_START':
        expectString(event.toolCallName, 'event TOOL_CALL_START.toolCallName')
        this.#calls.set(event.toolCallId, { toolName: event.toolCallName, text: '' })
        return this.#meant(event, {})
      case 'TOOL_CALL_ARGS': {
        const call = this.#calls.get(event.toolCallId)
        if (call) call.text += expectString(event.delta, 'event TOOL_CALL_ARGS.delta')
        return this.#meant(event, {})
      }
      case 'TOOL_CALL_END':
        return this.#callEnd(event)
      case 'TOOL_CALL_RESULT':
        this.#inputs.delete(event.toolCallId)
        return this.#meant(event, { output: outputOf(event.content) })
      case 'MESSAGES_SNAPSHOT':
        return this.#runId === undefined ? this.#snapshot(event) : NONE
      case 'SUBAGENT_STARTED':
        return this.#agentStart(event)
      case 'SUBAGENT_FINISHED':
      case 'SUBAGENT_ERROR': {
        const { agentType = '', toolCallId = '' } = this.#agents.get(event.subagentRunId) ?? {}
        return this.#meant(event, { agentType, toolCallId })
      }
      default:
        return this.#part(event)
    }
  }

  /** What belongs to a part, by the name of a message; what people said is theirs. */
  #part(event: AgUiEvent): readonly DecodedChunk[] {
    if (!('messageId' in event) || event.messageId === undefined) return this.#meant(event, {})
    if (this.#others.size > 0 && this.#others.has(event.messageId)) return NONE
    return this.#meant(event, { id: this.#idOf(expectString(event.messageId, 'event.messageId'), event.subagentRunId) })
  }

  #meant(event: AgUiEvent, known: Partial<EventContext>): readonly DecodedChunk[] {
    const chunk = chunkMeant(chunkOf(event, known as EventContext), event.metadata?.millrace)
    return chunk === undefined ? NONE : [this.#told(chunk, event)]
  }

  #told(chunk: Chunk, event: AgUiEvent): DecodedChunk {
    const guest = expectOrigin(event.metadata?.millraceOrigin)
    if (guest) return { chunk, origin: guest }
    const agentId = chunk.type.startsWith('subagent-') ? undefined : (event as { subagentRunId?: string }).subagentRunId
    const agent = agentId === undefined ? undefined : this.#agents.get(agentId)
    if (agent) return { chunk, origin: agent.origin }
    if (this.#runId === undefined && 'messageId' in event && typeof event.messageId === 'string')
      this.#messageId = event.messageId
    return this.#messageId === undefined ? { chunk } : { chunk, messageId: this.#messageId }
  }

  /** What we call a part: of our own messages the name says whose it is. */
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
    this.#status = undefined
    const ours = event.metadata?.millrace as { readonly runId?: unknown } | null | undefined
    if (typeof ours?.runId !== 'string') return [{ chunk: { type: 'start' } }]
    this.#runId = ours.runId
    this.#messageId = messageIdOf(ours.runId, ours.runId)
    return NONE
  }

  #custom(event: EventOf<'CUSTOM'>): readonly DecodedChunk[] {
    if (event.name === EXTENSION) return this.#extension(event)
    const asked = event.metadata?.millrace === undefined ? askedBy(event) : undefined
    if (!asked) return this.#meant(event, {})
    this.#status = 'paused'
    return [this.#told(asked.chunk, event), this.#waits([asked.awaits])]
  }

  #extension(event: EventOf<'CUSTOM'>): readonly DecodedChunk[] {
    const chunk = event.value as unknown as Chunk | undefined
    if (typeof chunk?.type !== 'string')
      throw new ProtocolError('invalid-chunk', `event CUSTOM ${EXTENSION}: expected a chunk as its value`)
    return [this.#told(validated(chunk), event)]
  }

  /** What another server says by all of its messages, and has not said otherwise. */
  #snapshot({ messages }: EventOf<'MESSAGES_SNAPSHOT'>): readonly DecodedChunk[] {
    const { past, retractsAll, facts } = diffSnapshot(messages, this.#posted, this.#heard.facts)
    const told: DecodedChunk[] = this.#isPastTold ? [] : pastChunksOf(past).map(chunk => ({ chunk, isHistory: true }))
    this.#isPastTold ||= past.length > 0
    if (retractsAll) {
      this.#heard.forget()
      told.push({ chunk: { type: 'step-discarded', reason: 'messages-snapshot' }, retractsAll })
    }
    for (const fact of facts) {
      const { kind, id, text } = fact
      if (kind === 'call') this.#inputs.set(id, { toolName: fact.name, text })
      told.push(...chunksOf(fact).map(chunk => ({ chunk })))
    }
    return told
  }

  #callEnd(event: EventOf<'TOOL_CALL_END'>): readonly DecodedChunk[] {
    const { toolCallId } = event
    const call = this.#calls.get(toolCallId)
    this.#calls.delete(toolCallId)
    if (!call) return this.#meant(event, { toolName: '', input: null })
    this.#inputs.set(toolCallId, call)
    // What stands beside the event says it better, where it says all.
    const aside = event.metadata?.millrace
    const isSaid = aside === null || (typeof aside === 'object' && 'type' in aside)
    const input = isSaid ? null : inputOf(call)
    return this.#meant(event, { toolName: call.toolName, input })
  }

  #agentStart(event: EventOf<'SUBAGENT_STARTED'>): readonly DecodedChunk[] {
    const { subagentRunId: agentId, name: agentType, parentToolCallId: toolCallId = '' } = event
    const chunk = chunkMeant(chunkOf(event, {} as EventContext), event.metadata?.millrace)
    const lane = chunk?.type === 'subagent-start' ? (chunk.lane ?? agentId) : agentId
    const origin = expectOrigin({ runId: this.#runId ?? '', lane, agentId, agentType, step: 1 }) as Origin
    if (!this.#agents.has(agentId)) this.#agents.set(agentId, { agentType, toolCallId, origin })
    return chunk === undefined ? NONE : [this.#told(chunk, event)]
  }

  #finished(event: EventOf<'RUN_FINISHED'>): readonly DecodedChunk[] {
    const { outcome, result, metadata } = event
    const aside = metadata?.millrace
    const calls = outcome?.type === 'success' ? callsIn(outcome.pendingToolCallIds) : []
    if (outcome?.type === 'interrupt' || calls.length > 0) {
      this.#status = 'paused'
      if (aside !== undefined) return NONE
      return [
        ...this.#asked(outcome?.type === 'interrupt' ? outcome.interrupts : []),
        this.#waits(calls.map(clientCall)),
      ]
    }
    if (this.#awaits.length > 0 && outcome === undefined) {
      this.#status = 'paused'
      return NONE
    }
    const chunk = chunkMeant(chunkOf(event, {} as EventContext), aside)
    this.#status = chunk?.type === 'run-finished' ? chunk.status : statusOf(event)
    const told = chunk === undefined ? [] : [this.#told(chunk, event)]
    if (aside !== undefined || result === undefined) return told
    return [this.#told({ type: 'output', output: result }, event), ...told]
  }

  #failed(event: EventOf<'RUN_ERROR'>): readonly DecodedChunk[] {
    const aside = event.metadata?.millrace
    const chunk = chunkMeant(chunkOf(event, {} as EventContext), aside)
    this.#status = 'failed'
    const told = chunk === undefined ? [] : [this.#told(chunk, event)]
    if (aside !== undefined) return told
    const { message, code } = event
    return [this.#told(validated({ type: 'error', message, ...(code !== undefined && { code }) }), event), ...told]
  }

  /** What another server's run waits for. */
  #asked(interrupts: readonly AgUiInterrupt[]): readonly DecodedChunk[] {
    const told: DecodedChunk[] = []
    for (const interrupt of interruptsIn(interrupts)) {
      const { id, toolCallId } = interrupt
      const request = this.#requestOf(interrupt)
      if (toolCallId !== undefined && !asksPeople(interrupt)) this.#awaits.push(clientCall(toolCallId))
      else if (toolCallId !== undefined && request) this.#awaits.push({ kind: 'approval', id, toolCallId })
      else this.#awaits.push({ kind: 'interrupt', id })
      if (asksPeople(interrupt)) told.push({ chunk: validated(request ?? questionOf(interrupt)) })
    }
    return told
  }

  /** Names what it waits for: calls that are open and not among it are the server's own. */
  #waits(more: readonly PendingRef[]): DecodedChunk {
    this.#awaits.push(...more)
    return { chunk: validated({ type: 'run-paused', awaits: [...this.#awaits] }) }
  }

  /** What asks whether a call may run; undefined where it is not about a call that is known. */
  #requestOf({ id: approvalId, toolCallId, expiresAt, metadata }: AgUiInterrupt): Chunk | undefined {
    if (toolCallId === undefined) return undefined
    const call = this.#inputs.get(toolCallId)
    const { toolName = call?.toolName, input = call && inputOf(call) } = metadata ?? {}
    if (typeof toolName !== 'string' || input === undefined) return undefined
    return { type: 'tool-approval-request', toolCallId, toolName, approvalId, input, ...deadlineOf(expiresAt) }
  }

  /** A piece of a message or call that has no start and no end of its own. */
  #piece(
    event: EventOf<'TEXT_MESSAGE_CHUNK' | 'REASONING_MESSAGE_CHUNK' | 'TOOL_CALL_CHUNK'>,
  ): readonly DecodedChunk[] {
    const kind = event.type === 'TOOL_CALL_CHUNK' ? 'call' : event.type === 'TEXT_MESSAGE_CHUNK' ? 'text' : 'reasoning'
    const said = event.type === 'TOOL_CALL_CHUNK' ? event.toolCallId : event.messageId
    const isOther =
      this.#piecewise && (this.#piecewise.kind !== kind || (said ?? this.#piecewise.id) !== this.#piecewise.id)
    const told: DecodedChunk[] = isOther ? [...this.#endPiece()] : []
    const id = said ?? this.#piecewise?.id
    if (typeof id !== 'string')
      throw new ProtocolError('invalid-chunk', `event ${event.type}: expected an id in the first of its kind`)
    if (!this.#piecewise) {
      this.#piecewise = { kind, id }
      told.push(...this.#event(startOf(event, kind, id)))
    }
    const { delta } = event
    if (delta !== undefined) told.push(...this.#event(deltaOf(kind, id, delta)))
    return told
  }

  #endPiece(): readonly DecodedChunk[] {
    const { kind, id } = this.#piecewise as { kind: 'text' | 'reasoning' | 'call'; id: string }
    this.#piecewise = undefined
    if (kind === 'call') return this.#event({ type: 'TOOL_CALL_END', toolCallId: id })
    return this.#event({ type: kind === 'text' ? 'TEXT_MESSAGE_END' : 'REASONING_MESSAGE_END', messageId: id })
  }
}

const inputOf = ({ text }: StreamedCall) => (text === '' ? {} : jsonOf(text))

function statusOf({ outcome }: EventOf<'RUN_FINISHED'>): EndStatus {
  return outcome?.type === 'cancelled' ? 'interrupted' : 'completed'
}

type PieceEvent = EventOf<'TEXT_MESSAGE_CHUNK' | 'REASONING_MESSAGE_CHUNK' | 'TOOL_CALL_CHUNK'>

function startOf(event: PieceEvent, kind: 'text' | 'reasoning' | 'call', id: string): AgUiEvent {
  if (kind === 'text') return { type: 'TEXT_MESSAGE_START', messageId: id }
  if (kind === 'reasoning') return { type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning' }
  const { toolCallName = '' } = event as EventOf<'TOOL_CALL_CHUNK'>
  return { type: 'TOOL_CALL_START', toolCallId: id, toolCallName }
}

function deltaOf(kind: 'text' | 'reasoning' | 'call', id: string, delta: string): AgUiEvent {
  if (kind === 'call') return { type: 'TOOL_CALL_ARGS', toolCallId: id, delta }
  return { type: kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT', messageId: id, delta }
}

/** What another server shows of what it is doing: each activity is data of its kind, which is replaced as it goes on. */
class Activities {
  readonly #contents = new Map<string, Json>()

  /** What an event makes of an activity; undefined, where that is nothing that can be shown. */
  chunkOf(event: EventOf<'ACTIVITY_SNAPSHOT' | 'ACTIVITY_DELTA'>): Chunk | undefined {
    const kind = expectString(event.activityType, `event ${event.type}.activityType`)
    const id = expectString(event.messageId, `event ${event.type}.messageId`)
    const data = event.type === 'ACTIVITY_SNAPSHOT' ? this.#given(event) : this.#changed(event)
    if (data === undefined) return undefined
    this.#contents.set(id, data)
    return { type: `data-${kind}`, id, data }
  }

  #given({ messageId, content, replace }: EventOf<'ACTIVITY_SNAPSHOT'>): Json | undefined {
    return replace === false && this.#contents.has(messageId) ? undefined : (content ?? null)
  }

  /** What does not fit is passed over, as by AG-UI's own clients. */
  #changed({ messageId, patch }: EventOf<'ACTIVITY_DELTA'>): Json | undefined {
    const content = this.#contents.get(messageId)
    if (content === undefined) return undefined
    try {
      return applyPatch(content, patch)
    } catch {
      return undefined
    }
  }
}
