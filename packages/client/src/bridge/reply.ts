import { newId } from '@millrace/dialects'
import { distinctId, foreignId } from '@millrace/dialects/internal'
import {
  type Chunk,
  type Entry,
  type FinishReason,
  type JsonObject,
  messageIdOf,
  ProtocolError,
  type ToolPart,
  type ToolState,
} from '@millrace/protocol'
import { isObject, MAIN_LANE } from '@millrace/protocol/internal'
import { type ChatCallbacks, invokeCallback } from '../chat/callbacks.ts'
import type { Store } from '../store/store.ts'
import { type AuthoredMessage, withPart } from './chat-message.ts'
import { TextParts } from './text-parts.ts'
import { type ChatDataChunk, type ChatMessageChunk, type ChatUser, jsonOf } from './types.ts'

/** Required fields by chunk type, all of them strings. */
const REQUIRED_FIELDS = new Map<string, readonly string[]>(
  Object.entries({
    'text-start': ['id'],
    'text-delta': ['id', 'delta'],
    'text-end': ['id'],
    'reasoning-start': ['id'],
    'reasoning-delta': ['id', 'delta'],
    'reasoning-end': ['id'],
    'tool-input-start': ['toolCallId', 'toolName'],
    'tool-input-delta': ['toolCallId', 'inputTextDelta'],
    'tool-input-available': ['toolCallId', 'toolName'],
    'tool-input-error': ['toolCallId', 'errorText'],
    'tool-approval-request': ['toolCallId', 'toolName'],
    'tool-output-available': ['toolCallId'],
    'tool-output-error': ['toolCallId', 'errorText'],
    'tool-output-denied': ['toolCallId'],
    'source-url': ['sourceId', 'url'],
    'source-document': ['sourceId'],
    file: ['mediaType', 'url'],
  }),
)

const FINISH_REASONS: readonly string[] = ['stop', 'length', 'tool-calls', 'content-filter', 'error', 'other']

const isData = (chunk: ChatMessageChunk): chunk is ChatDataChunk => chunk.type.startsWith('data-')

type CallChunk = Extract<ChatMessageChunk, { toolCallId: string }>

interface ReplyCall {
  /** Id in the fold. */
  readonly id: string
  state: ToolState
  /** Its part at the end of the reply, if the call was still open then. */
  openPart?: ToolPart
}

export interface ReplyOptions {
  readonly store: Store
  readonly runId: string
  /** Ids of the tool calls of all messages. They share one namespace in the fold. */
  readonly callIds: Set<string>
  readonly callbacks: () => ChatCallbacks
}

/** One reply: turns the chunks of an adapter into entries of a run, and folds them. Its run never finishes, because a later stream may continue the reply. */
export class Reply {
  readonly runId: string
  /** Id of its message in the view. */
  id: string
  /** Whether the id was generated here, so that the adapter may still give another. */
  hasGeneratedId: boolean
  readonly #options: ReplyOptions
  readonly #origin: Entry['origin']
  readonly #texts: TextParts
  readonly #calls = new Map<string, ReplyCall>()
  #pendingApprovals = 0

  constructor(options: ReplyOptions, id: string | undefined, existing?: AuthoredMessage) {
    const { store, runId } = options
    this.#options = options
    this.runId = runId
    this.hasGeneratedId = id === undefined
    this.id = id ?? newId()
    this.#origin = { runId, lane: MAIN_LANE, agentId: runId, agentType: 'assistant', step: 0 }
    this.#texts = new TextParts(chunk => this.#fold(chunk))
    for (const part of existing?.parts ?? []) {
      if ('toolCallId' in part) this.#calls.set(foreignId(part.toolCallId), { id: part.toolCallId, state: part.state })
      else if ('state' in part) this.#texts.register(part.type, part.id)
    }
    store.rename(this.#foldId, this.id)
  }

  /** Id of its message in the fold. */
  get #foldId(): string {
    return messageIdOf(this.runId, this.runId)
  }

  /** Whether a call waits for approval. */
  get isWaiting(): boolean {
    return this.#pendingApprovals > 0
  }

  rename(id: string): void {
    this.hasGeneratedId = false
    this.id = id
    this.#options.store.rename(this.#foldId, id)
  }

  /** The stream starts or continues. */
  begin(author?: ChatUser): void {
    this.patch({ status: 'streaming', ...(author && { author }) })
    this.#fold({ type: 'start' })
  }

  /** Overrides fields of the folded message. */
  patch(patch: Partial<AuthoredMessage>): void {
    this.#options.store.patch(this.id, patch)
  }

  /**
   * Writes a chunk. Returns whether it is certainly new: a longer text, or a call in another state. Other chunks may be repeats.
   * @throws a `ProtocolError` if a required field is missing.
   */
  write(chunk: ChatMessageChunk): boolean {
    for (const name of REQUIRED_FIELDS.get(chunk.type) ?? []) requireString(chunk, name)
    switch (chunk.type) {
      case 'text-delta':
      case 'reasoning-delta':
        return this.#texts.append(chunk.type === 'text-delta' ? 'text' : 'reasoning', chunk)
      case 'text-start':
      case 'reasoning-start':
        this.#texts.start(chunk.type === 'text-start' ? 'text' : 'reasoning', chunk.id)
        break
      case 'text-end':
      case 'reasoning-end':
        this.#texts.end(chunk.type === 'text-end' ? 'text' : 'reasoning', chunk.id)
        break
      case 'start-step':
        this.#fold({ type: 'step-start' })
        break
      case 'message-metadata':
        this.#fold({ type: 'message-metadata', metadata: metadataOf(chunk) })
        break
      case 'source-url':
      case 'source-document':
      case 'file':
        this.#fold(definedFields(chunk) as Chunk)
        break
      default:
        if (isData(chunk)) this.#data(chunk)
        else if (chunk.type.startsWith('tool-') && REQUIRED_FIELDS.has(chunk.type))
          return this.#call(chunk as CallChunk)
    }
    return false
  }

  /** Prepares for a resumed stream, which may repeat the reply so far. */
  resume(): void {
    this.#texts.resume(key => this.#options.store.textSince(this.id, key)?.text)
  }

  #data({ type, data, id, transient }: ChatDataChunk): void {
    const value = { type, data: jsonOf(data), ...(id !== undefined && { id }) }
    if (!transient) this.#fold(value)
    invokeCallback(this.#options.callbacks().onData, { ...value, ...(transient && { transient }) })
  }

  #call(chunk: CallChunk): boolean {
    const isOpening = /^tool-(input-(start|available)|approval-request)$/.test(chunk.type)
    const call = this.#calls.get(chunk.toolCallId) ?? (isOpening ? this.#newCall(chunk.toolCallId) : undefined)
    // Chunks about an unknown call are ignored.
    if (!call) return false
    if (chunk.type === 'tool-input-delta') {
      if (call.state === 'input-streaming')
        this.#fold({ type: chunk.type, toolCallId: call.id, delta: chunk.inputTextDelta })
      return false
    }
    if (call.openPart && chunk.type.startsWith('tool-output-')) this.#reopen(call)
    const chunks = this.#callChunks(chunk, call)
    return chunks.length > 0 && this.#transition(call, chunks)
  }

  #newCall(adapterId: string): ReplyCall {
    const { callIds } = this.#options
    const id = callIds.has(adapterId) ? distinctId(adapterId, this.runId) : adapterId
    const call: ReplyCall = { id, state: 'input-streaming' }
    callIds.add(id)
    this.#calls.set(adapterId, call)
    return call
  }

  /** The entries for a chunk about a call, with missing earlier states before it. Empty if the call is past that state. */
  #callChunks(chunk: CallChunk, call: ReplyCall): Chunk[] {
    const { id: toolCallId, state } = call
    const part = this.#part(call)
    const { toolName = part?.toolName ?? '', dynamic } = chunk as { toolName?: string; dynamic?: boolean }
    const available = (input: unknown): Chunk[] =>
      state === 'input-streaming'
        ? [{ type: 'tool-input-available', toolCallId, toolName, input: jsonOf(input), ...(dynamic && { dynamic }) }]
        : []
    const approvalId = part?.approval?.id ?? toolCallId
    switch (chunk.type) {
      case 'tool-input-start':
        return part ? [] : [{ type: chunk.type, toolCallId, toolName, ...(dynamic && { dynamic }) }]
      case 'tool-input-available':
        return available(chunk.input)
      case 'tool-approval-request': {
        const { approvalId = toolCallId } = chunk
        const request = { type: chunk.type, toolCallId, approvalId, input: jsonOf(chunk.input) }
        return [...available(chunk.input), request, this.#checkpoint()]
      }
      case 'tool-output-available': {
        const { output, preliminary } = chunk
        const result: Chunk = {
          type: chunk.type,
          toolCallId,
          output: jsonOf(output),
          ...(preliminary && { preliminary }),
        }
        // The call ran, so it was approved.
        const approved: Chunk = { type: 'tool-approval-response', toolCallId, approvalId, approved: true }
        return [...available(part?.input), ...(state === 'approval-requested' ? [approved] : []), result]
      }
      case 'tool-input-error':
      case 'tool-output-error':
        return [{ type: 'tool-output-error', toolCallId, errorText: chunk.errorText }]
      case 'tool-output-denied': {
        const { reason } = chunk
        const errorText = reason ?? 'The call was denied.'
        if (part?.approval?.approved) return [{ type: 'tool-output-error', toolCallId, errorText }]
        const request: Chunk = { type: 'tool-approval-request', toolCallId, approvalId, input: part?.input ?? null }
        const denied: Chunk = { type: chunk.type, toolCallId, ...(reason !== undefined && { reason }) }
        return [...available(part?.input), ...(part?.approval ? [] : [request]), denied]
      }
      default:
        return []
    }
  }

  /** Writes chunks about a call. Returns whether its state changed, and calls `onToolCall` then. */
  #transition(call: ReplyCall, chunks: readonly Chunk[], isReported = true): boolean {
    const { store, callbacks } = this.#options
    for (const chunk of chunks) store.fold([this.#entry(chunk)])
    store.apply([])
    const toolCall = this.#part(call)
    if (!toolCall) return false
    const isNew = toolCall.state !== call.state || chunks[0]?.type === 'tool-input-start'
    this.#pendingApprovals +=
      Number(toolCall.state === 'approval-requested') - Number(call.state === 'approval-requested')
    call.state = toolCall.state
    if (isNew && isReported) invokeCallback(callbacks().onToolCall, { toolCall, messageId: this.id })
    return isNew
  }

  #part({ id }: ReplyCall): ToolPart | undefined {
    return this.#options.store.call(this.id, id)
  }

  /** Answers a request for approval. Returns a function that undoes the answer. Undefined if there is no such request. */
  answer(toolCallId: string, approved: boolean, reason?: string): (() => void) | undefined {
    const call = this.#calls.get(foreignId(toolCallId))
    const part = call && this.#part(call)
    if (!call || part?.state !== 'approval-requested' || !part.approval) return undefined
    const response: Chunk = {
      type: 'tool-approval-response',
      toolCallId: call.id,
      approvalId: part.approval.id,
      approved,
      ...(reason !== undefined && { reason }),
    }
    this.#transition(call, [response])
    return () => {
      if (call.state === 'approval-responded') this.#replacePart(call, part)
    }
  }

  /** Continues a call that ended with its reply. */
  #reopen(call: ReplyCall): void {
    const { openPart } = call
    delete call.openPart
    if (openPart) this.#replacePart(call, openPart)
  }

  #replacePart(call: ReplyCall, part: ToolPart): void {
    const { store } = this.#options
    store.restore(withPart(store.view(), this.#foldId, part))
    this.#pendingApprovals += Number(part.state === 'approval-requested') - Number(call.state === 'approval-requested')
    call.state = part.state
  }

  /** Ends all open parts and calls. If the reply is complete, requests for approval stay open. */
  end(isComplete: boolean, finishReason?: string): void {
    this.#texts.endAll()
    for (const call of this.#calls.values()) {
      const part = call.state.startsWith('output-') ? undefined : this.#part(call)
      if (!part || (isComplete && part.state === 'approval-requested')) continue
      call.openPart = part
      const { id: toolCallId } = call
      const errorText = 'The reply ended before this call did.'
      this.#transition(call, [{ type: 'tool-output-error', toolCallId, errorText, code: 'interrupted' }], false)
    }
    if (finishReason !== undefined) {
      const isKnown = FINISH_REASONS.includes(finishReason)
      this.#fold({ type: 'finish', finishReason: (isKnown ? finishReason : 'other') as FinishReason })
    }
    this.#fold(this.#checkpoint())
  }

  #checkpoint(): Chunk {
    return { type: 'checkpoint-created', checkpointId: `${this.#options.store.head}` }
  }

  #fold(chunk: Chunk): void {
    this.#options.store.apply([this.#entry(chunk)])
  }

  #entry(chunk: Chunk): Entry {
    return { sequence: this.#options.store.head + 1, timestamp: Date.now(), origin: this.#origin, chunk }
  }
}

/** @throws a `ProtocolError` if a field of a chunk is not a string. */
export function requireString(chunk: ChatMessageChunk, name: string): void {
  const value = (chunk as unknown as Record<string, unknown>)[name]
  if (typeof value !== 'string')
    throw new ProtocolError('invalid-chunk', `chunk ${chunk.type}.${name}: expected a string, found ${typeof value}`)
}

/** An object without undefined fields. */
function definedFields(chunk: object): object {
  return Object.fromEntries(Object.entries(chunk).filter(([, value]) => value !== undefined)) as JsonObject
}

function metadataOf({ metadata }: { readonly metadata: unknown }): JsonObject {
  if (!isObject(metadata))
    throw new ProtocolError('invalid-chunk', 'chunk message-metadata.metadata: expected an object')
  return metadata as JsonObject
}
