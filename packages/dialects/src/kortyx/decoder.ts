import { type Chunk, type Origin, ProtocolError } from '@millrace/protocol'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'
import { RunDecoder } from '../dialect/run-decoder.ts'
import { applySupplement } from '../dialect/supplement.ts'
import { expectObject, expectOptionalString, expectOrigin, expectString, validated } from '../dialect/validate.ts'
import { eventToChunk } from './events/event-to-chunk.ts'
import { EXTENSION, type KortyxExtension } from './events/extension.ts'
import type { DoneData, KortyxChunk } from './types.ts'

const NONE: readonly DecodedChunk[] = []

const STATUSES: ReadonlySet<unknown> = new Set(['completed', 'failed', 'interrupted', 'aborted', 'paused'])

/** Decodes a Kortyx stream, from Millrace or from a server of Kortyx. */
export class KortyxDecoder extends RunDecoder<KortyxChunk> {
  /** The tokens of requests, by request id. */
  readonly tokens: Map<string, string>
  /** The requests of ours that are answered by JSON: Kortyx has no forms. */
  readonly forms: Set<string>
  #hasInterrupt = false
  /** Number of ended texts by id, since servers may reuse an id. */
  readonly #ended = new Map<string, number>()
  /** Nodes whose text was streamed. */
  readonly #streamedNodes = new Set<string | undefined>()
  #messages = 0

  constructor(tokens: Map<string, string> = new Map(), forms: Set<string> = new Set()) {
    super()
    this.tokens = tokens
    this.forms = forms
  }

  protected override decodeNext(event: KortyxChunk): readonly DecodedChunk[] {
    if (typeof event?.type !== 'string')
      throw new ProtocolError('invalid-chunk', 'chunk: expected an object with a type')
    const guest = expectOrigin(event.millraceOrigin)
    if (this.endStatus === 'paused') this.#clearPause()
    if (event.type === 'tool-result' && event.tool === EXTENSION) return this.#extension(event.content, guest)
    validateEvent(event)
    if (event.type === 'message' && event.millrace === undefined) return this.#message(event)
    const chunk = applySupplement(this.#withoutSupplement(event), event.millrace)
    this.#updateStatus(event)
    if (chunk === undefined) return NONE
    return [guest ? { chunk, origin: guest } : { chunk }]
  }

  /** Clears the pause of a run that continues. */
  #clearPause(): void {
    this.endStatus = undefined
    this.#hasInterrupt = false
  }

  #extension(content: unknown, guest: Origin | undefined): readonly DecodedChunk[] {
    const { chunk, origin: value } = (content ?? {}) as Partial<KortyxExtension>
    if (typeof chunk?.type !== 'string')
      throw new ProtocolError('invalid-chunk', 'chunk tool-result.content: expected { chunk }')
    validated(chunk)
    const origin = expectOrigin(value) ?? guest
    if (chunk.type === 'interrupt' && chunk.input.kind === 'form') this.forms.add(chunk.interruptId)
    if (!value && chunk.type === 'run-finished') this.end(chunk.status)
    return [origin ? { chunk, origin } : { chunk }]
  }

  #withoutSupplement(event: KortyxChunk): Chunk | undefined {
    const plain = eventToChunk(event)
    if (event.type !== 'text-start' && event.type !== 'text-delta' && event.type !== 'text-end') return plain
    // A segment id without a hook call is never reused.
    if (plain === undefined || !('id' in plain) || (event.segmentId && !event.opId)) return plain
    const ended = this.#ended.get(plain.id as string)
    if (event.type === 'text-end') this.#ended.set(plain.id as string, (ended ?? 0) + 1)
    return ended === undefined ? plain : ({ ...plain, id: `${plain.id}#${ended + 1}` } as Chunk)
  }

  /** Decodes a complete message of a node. Empty if its text was streamed before. */
  #message({
    content,
    node,
  }: {
    readonly content: string
    readonly node?: string | undefined
  }): readonly DecodedChunk[] {
    const isStreamed = node === undefined ? this.#streamedNodes.size > 0 : this.#streamedNodes.has(node)
    if (isStreamed || typeof content !== 'string' || content.trim() === '') return NONE
    const id = `message-${++this.#messages}`
    const chunks: Chunk[] = [
      { type: 'text-start', id },
      { type: 'text-delta', id, delta: content },
      { type: 'text-end', id },
    ]
    return chunks.map(chunk => ({ chunk }))
  }

  /** Updates the status of the run. */
  #updateStatus(event: KortyxChunk): void {
    const isOwn = event.millrace === undefined
    switch (event.type) {
      case 'text-delta':
        if (isOwn) this.#streamedNodes.add(event.node)
        break
      case 'interrupt':
        this.tokens.set(event.requestId, event.resumeToken)
        this.#hasInterrupt = true
        break
      case 'error':
        // A `done` may follow, which adds nothing.
        if (isOwn) this.end('failed')
        break
      case 'done':
        if (isOwn) this.endStatus ??= this.#hasInterrupt ? 'paused' : 'completed'
        // Our `done` has the status. Without one, the connection was dropped.
        else this.endStatus ??= statusIn(event.data)
        break
      default:
    }
  }
}

/** Validates the fields that decoding reads. */
function validateEvent(event: KortyxChunk): void {
  switch (event.type) {
    case 'text-start':
    case 'text-delta':
    case 'text-end':
      expectOptionalString(event.opId, 'chunk.opId')
      expectOptionalString(event.segmentId, 'chunk.segmentId')
      expectOptionalString(event.node, 'chunk.node')
      break
    case 'interrupt':
      expectString(event.requestId, 'chunk interrupt.requestId')
      expectString(event.resumeToken, 'chunk interrupt.resumeToken')
      expectObject(event.input, 'chunk interrupt.input')
      break
    default:
  }
}

function statusIn(data: unknown): EndStatus | undefined {
  const { status } = (data ?? {}) as Partial<DoneData>
  return STATUSES.has(status) ? status : undefined
}
