import { type Chunk, type Origin, type PendingRef, ProtocolError } from '@millrace/protocol'
import type { DecodedChunk, Decoder, EndStatus } from '../dialect/dialect.ts'
import { applySupplement } from '../dialect/supplement.ts'
import {
  expectArray,
  expectObject,
  expectOptionalString,
  expectOrigin,
  expectString,
  validated,
} from '../dialect/validate.ts'
import { EXTENSION, eventToChunk } from './events/event-to-chunk.ts'
import type {
  CustomEventChunk,
  RunPausedChunk,
  StreamChunk,
  StreamChunkEvent,
  StreamEvent,
  StreamMessage,
  StreamResyncChunk,
  SubAgentEndChunk,
  SuspensionMarkerChunk,
} from './types.ts'

/** The open block of an agent. Helix does not send part ids. */
interface HelixBlock {
  readonly kind: 'text' | 'reasoning'
  readonly id: string
}

const NONE: readonly Chunk[] = []

/** Chunks that are not text, and so end a text block. */
const TEXT_BREAKS: ReadonlySet<string> = new Set([
  'tool_arg_stream_start',
  'tool_start',
  'tool_end',
  'subagent_start',
  'subagent_end',
  'step_start',
  'step_end',
  'output',
  'error',
  'run_interrupted',
  'run_paused',
])

/** Decodes a stream of Helix, from Millrace or from a server of Helix: events, or chunks without envelopes. */
export class HelixDecoder implements Decoder<StreamEvent | StreamMessage> {
  #status: EndStatus | undefined
  #isWaiting = false
  /** Whether the stream is from Millrace. It has the status of its runs then. */
  #isMillrace = false
  /** Whether the run of a foreign server failed. Later events are ignored until another run begins (law 7). */
  #hasFailed = false
  #sequence = 0
  /** The main agent: the first one that is not a sub-agent. */
  #rootId: string | undefined
  readonly #children = new Set<string>()
  /** The errors that ended sub-agents of a foreign server, by agent id. Helix has no other field for their failure. */
  readonly #childErrors = new Map<string, string>()
  readonly #blocks = new Map<string, HelixBlock>()
  #blockCount = 0
  /** Calls whose result was decoded. Helix has two chunks for it. */
  readonly #failed = new Set<string>()
  /** Calls without a result, with the request that they wait for. */
  readonly #waiting = new Map<string, PendingRef>()
  #checkpointId: string | undefined
  #hasOutput = false
  /** The message of the run's last error, without those of sub-agents. */
  #runError: string | undefined

  get status(): EndStatus | undefined {
    return this.#status
  }

  /** Whether the stream itself ended as paused: nothing follows until an answer. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  decode(event: StreamEvent | StreamMessage): readonly DecodedChunk[] {
    if (this.#hasFailed && !isRunResumed(event)) return []
    if (typeof event?.type !== 'string')
      throw new ProtocolError('invalid-chunk', 'event: expected an object with a type')
    switch (event.type) {
      case 'chunk':
        return this.#decodeEvent(event)
      case 'status':
        this.#isWaiting = event.status === 'paused'
        this.#status = this.#isWaiting ? 'paused' : undefined
        return []
      case 'end':
      case 'stream_end':
        return this.#end(event.finalOutput)
      case 'fail':
        return this.#fail(expectString(event.error, 'event fail.error'))
      case 'truncated':
        // Chunks after the last read position were never received here.
        if (typeof event.atSequence === 'number' && event.atSequence <= this.#sequence) return []
        throw new ProtocolError('stream-cut', 'stream: entries were retracted or trimmed: read a snapshot')
      default:
        return this.#decodeEvent({ type: 'chunk', chunk: event })
    }
  }

  #decodeEvent(event: StreamChunkEvent): readonly DecodedChunk[] {
    const { chunk, sequence, millrace } = event
    if (typeof chunk?.type !== 'string')
      throw new ProtocolError('invalid-chunk', 'event chunk: expected a chunk with a type')
    checkEvent(event)
    const origin = expectOrigin(event.origin)
    const isChild = (origin !== undefined && origin.guest === undefined) || this.#isChild(chunk)
    const chunks =
      millrace === undefined
        ? this.#decodePlain(chunk).map(validated)
        : listOf(applySupplement(eventToChunk(chunk), millrace))
    const decodedChunks = chunks.map(decoded => this.#decodedChunk(decoded, event, isChild))
    if (sequence !== undefined) this.#sequence = sequence
    this.#isWaiting = false
    this.#hasFailed = false
    for (const decoded of chunks) this.#trackState(decoded, isChild)
    this.#isMillrace ||= millrace !== undefined || isExtension(chunk)
    if (chunk.type === 'error' && chunk.recoverable === false) {
      if (!isChild) this.#failForeignRun()
      else if (!this.#isMillrace) this.#childErrors.set(chunk.agentId, chunk.error)
    } else if (chunk.type === 'run_resumed') this.#childErrors.delete(chunk.agentId)
    return decodedChunks
  }

  /** A run of Millrace ends with its `run-finished`. */
  #failForeignRun(): void {
    if (this.#isMillrace) return
    this.#status = 'failed'
    this.#hasFailed = true
  }

  #decodedChunk(chunk: Chunk, event: StreamChunkEvent, isChild: boolean): DecodedChunk {
    const { sequence } = event
    const { timestamp } = event.chunk
    const decoded: { -readonly [K in keyof DecodedChunk]: DecodedChunk[K] } = { chunk }
    if (sequence !== undefined) decoded.sequence = sequence
    if (timestamp !== undefined) decoded.timestamp = timestamp
    if (event.origin !== undefined) decoded.origin = event.origin
    else if (isChild) decoded.origin = this.#originOf(event.chunk)
    return decoded
  }

  #isChild({ agentId }: StreamChunk): boolean {
    if (agentId === undefined) return false
    this.#rootId ??= agentId
    return this.#children.has(agentId)
  }

  #originOf({ agentId, agentType, step }: StreamChunk): Origin {
    return expectOrigin({ runId: this.#rootId, lane: agentId, agentId, agentType, step }) as Origin
  }

  /** Decodes a chunk without its supplement. */
  #decodePlain(chunk: StreamChunk): readonly Chunk[] {
    if (TEXT_BREAKS.has(chunk.type)) return [...this.#closeBlock(chunk.agentId), ...this.#chunksOf(chunk)]
    return this.#chunksOf(chunk)
  }

  #chunksOf(chunk: StreamChunk): readonly Chunk[] {
    switch (chunk.type) {
      case 'text_delta': {
        const [id, first] = this.#block(chunk.agentId, 'text')
        return [...first, { type: 'text-delta', id, delta: chunk.delta }]
      }
      case 'thinking':
        return this.#thinking(chunk)
      case 'custom':
        return isExtension(chunk) ? [extensionIn(chunk.data)] : listOf(eventToChunk(chunk))
      case 'tool_end':
        if (chunk.error === undefined) return listOf(eventToChunk(chunk))
        return this.#failure(chunk)
      case 'tool_output_error':
        return this.#failure(chunk)
      case 'step_committed':
        // A committed step mostly had its checkpoint before.
        if (chunk.checkpointId === this.#checkpointId) return NONE
        return [{ type: 'checkpoint-created', checkpointId: chunk.checkpointId, closesStep: true }]
      case 'step_discarded':
        this.#blocks.delete(chunk.agentId)
        return listOf(eventToChunk(chunk))
      case 'stream_resync':
        return this.#resync(chunk)
      case 'run_paused':
        return [{ type: 'run-paused', reason: chunk.reason, awaits: this.#awaits(pendingIn(chunk)) }]
      case 'suspension_marker':
        return this.#suspended(chunk)
      case 'subagent_end':
        return this.#childEnd(chunk)
      default:
        return listOf(eventToChunk(chunk))
    }
  }

  #childEnd(chunk: SubAgentEndChunk): readonly Chunk[] {
    const reason = this.#childErrors.get(chunk.subSessionId)
    this.#childErrors.delete(chunk.subSessionId)
    const ended = listOf(eventToChunk(chunk))
    return reason === undefined ? ended : ended.map(end => ({ ...end, status: 'failed', reason }) as Chunk)
  }

  /** The open block of an agent, and the start chunk if it is new. Another kind of content ends a block. */
  #block(agentId: string, kind: HelixBlock['kind']): readonly [string, readonly Chunk[]] {
    const open = this.#blocks.get(agentId)
    if (open?.kind === kind) return [open.id, NONE]
    const first = this.#closeBlock(agentId)
    const id = `${kind}-${++this.#blockCount}`
    this.#blocks.set(agentId, { kind, id })
    return [id, first]
  }

  #closeBlock(agentId: string): readonly Chunk[] {
    const open = this.#blocks.get(agentId)
    this.#blocks.delete(agentId)
    return open ? [{ type: `${open.kind}-end`, id: open.id }] : NONE
  }

  /** The complete block, after its deltas, only ends the block. */
  #thinking({ agentId, content, isComplete }: Extract<StreamChunk, { type: 'thinking' }>): readonly Chunk[] {
    const isKnown = this.#blocks.get(agentId)?.kind === 'reasoning'
    if (isComplete && isKnown) return this.#closeBlock(agentId)
    const [id, first] = this.#block(agentId, 'reasoning')
    const chunks: Chunk[] = [...first, { type: 'reasoning-delta', id, delta: content }]
    return isComplete ? [...chunks, ...this.#closeBlock(agentId)] : chunks
  }

  /** Decodes the error of a call once, from either chunk. */
  #failure(chunk: StreamChunk & { readonly toolCallId: string }): readonly Chunk[] {
    if (chunk.type === 'tool_output_error' && this.#failed.has(chunk.toolCallId)) return NONE
    if (chunk.type === 'tool_end' && this.#failed.delete(chunk.toolCallId)) return NONE
    this.#failed.add(chunk.toolCallId)
    return listOf(eventToChunk(chunk))
  }

  /** Uncommitted content is discarded, committed content is rewound. */
  #resync({ reason, fromSequence: toSequence, agentId }: StreamResyncChunk): readonly Chunk[] {
    this.#blocks.delete(agentId)
    return [reason === 'crash_recovery' ? { type: 'step-discarded', reason } : { type: 'rewind', toSequence, reason }]
  }

  #suspended({ kind, payload }: SuspensionMarkerChunk): readonly Chunk[] {
    if (this.#status === 'paused') return NONE
    const { toolCallIds = [], children: childList = [] } = expectObject(payload, 'chunk suspension_marker.payload')
    const ids = expectArray(toolCallIds, 'chunk suspension_marker.payload.toolCallIds')
    const children = expectArray(childList, 'chunk suspension_marker.payload.children')
    const awaits = this.#awaits(
      ids.map(id => clientToolRef(expectString(id, 'chunk suspension_marker.payload.toolCallIds'))),
    )
    if (children.length > 0) awaits.push({ kind: 'children', id: kind, agentIds: children.flatMap(childIn) })
    return [{ type: 'run-paused', reason: kind, awaits }]
  }

  /** The requests of the chunk, and all other calls without a result. */
  #awaits(awaits: readonly PendingRef[]): PendingRef[] {
    const pendings = new Map(this.#waiting)
    for (const pending of awaits) {
      const id = 'toolCallId' in pending ? pending.toolCallId : pending.id
      if (!pendings.has(id)) pendings.set(id, pending)
    }
    return [...pendings.values()]
  }

  #end(finalOutput: unknown): readonly DecodedChunk[] {
    const isNew = this.#status === undefined
    const chunks = isNew ? this.#allClosed() : []
    if (isNew && finalOutput !== undefined && !this.#hasOutput) {
      this.#hasOutput = true
      chunks.push({ type: 'output', output: finalOutput as never })
    }
    if (this.#status === undefined || this.#status === 'paused') this.#status = 'completed'
    return chunks.map(chunk => ({ chunk }))
  }

  #fail(error: string): readonly DecodedChunk[] {
    const chunks = this.#status === undefined ? this.#allClosed() : []
    // An error that recovered, or that of a sub-agent, is not why the run failed.
    if (this.#status === undefined && error !== this.#runError) chunks.push({ type: 'error', message: error })
    if (this.#status === undefined || this.#status === 'paused') {
      this.#status = 'failed'
      this.#failForeignRun()
    }
    return chunks.map(chunk => ({ chunk }))
  }

  #allClosed(): Chunk[] {
    return [...this.#blocks.keys()].flatMap(agentId => this.#closeBlock(agentId))
  }

  /** Updates the status of the run. */
  #trackState(chunk: Chunk, isChild: boolean): void {
    switch (chunk.type) {
      case 'subagent-start':
        this.#children.add(chunk.agentId)
        break
      case 'checkpoint-created':
        this.#checkpointId = chunk.checkpointId
        break
      case 'tool-approval-request': {
        const { approvalId: id, toolCallId, toolName } = chunk
        const pending = { kind: 'approval', id, toolCallId, ...(toolName !== undefined && { toolName }) } as const
        this.#waiting.set(toolCallId, pending)
        break
      }
      case 'tool-approval-response':
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
        this.#waiting.delete(chunk.toolCallId)
        break
      case 'output':
        if (!isChild) this.#hasOutput = true
        break
      case 'error':
        if (!isChild) this.#runError = chunk.message
        break
      case 'run-started':
        this.#hasOutput = false
        this.#runError = undefined
        this.#status = undefined
        break
      case 'run-resumed':
        this.#status = undefined
        break
      case 'run-paused':
        this.#status = 'paused'
        break
      case 'run-finished':
        this.#status = chunk.status
        this.#rootId = undefined
        this.#children.clear()
        this.#childErrors.clear()
        this.#waiting.clear()
        this.#failed.clear()
        break
      default:
    }
  }
}

/** Validates the fields that decoding reads. */
function checkEvent({ sequence, chunk }: StreamChunkEvent): void {
  const hasSequence = sequence === undefined || (Number.isSafeInteger(sequence) && sequence >= 0)
  const hasTimestamp = chunk.timestamp === undefined || Number.isFinite(chunk.timestamp)
  if (!hasSequence || !hasTimestamp)
    throw new ProtocolError('invalid-chunk', 'event chunk: expected numbers as its sequence and its timestamp')
  expectOptionalString(chunk.agentId, 'chunk.agentId')
  if (chunk.type === 'custom') expectString(chunk.eventName, 'chunk custom.eventName')
}

const isExtension = (chunk: StreamChunk): chunk is CustomEventChunk =>
  chunk.type === 'custom' && chunk.eventName === EXTENSION

/** Whether an event says that a run continues, or begins again from a checkpoint. */
const isRunResumed = (event: StreamEvent | StreamMessage | null): boolean =>
  (event?.type === 'chunk' ? (event.chunk as StreamChunk | null | undefined)?.type : event?.type) === 'run_resumed'

const clientToolRef = (id: string): PendingRef => ({ kind: 'client-tool', id, toolCallId: id })

const listOf = (chunk: Chunk | undefined): readonly Chunk[] => (chunk === undefined ? NONE : [chunk])

function extensionIn(data: unknown): Chunk {
  const { chunk } = (data ?? {}) as { readonly chunk?: Chunk }
  if (typeof chunk?.type === 'string') return chunk
  throw new ProtocolError('invalid-chunk', `chunk custom ${EXTENSION}.data: expected { chunk }`)
}

function pendingIn({ pendingToolCallId: id, pendingToolName: toolName }: RunPausedChunk): readonly PendingRef[] {
  if (id === undefined) return []
  return [{ kind: 'client-tool', id, toolCallId: id, ...(toolName !== undefined && { toolName }) }]
}

function childIn(child: unknown): string[] {
  const { subSessionId, sessionId } = expectObject(child, 'chunk suspension_marker.payload.children')
  const id = subSessionId ?? sessionId
  return typeof id === 'string' ? [id] : []
}
