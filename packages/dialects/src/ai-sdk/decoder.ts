import { type Chunk, type Json, type Origin, ProtocolError } from '@millrace/protocol'
import type { DecodedChunk, Decoder, EndStatus } from '../dialect/dialect.ts'
import { statusAfter } from '../dialect/status-after.ts'
import { chunkMeant } from '../dialect/supplement.ts'
import { expectOrigin, expectString, validated } from '../dialect/validate.ts'
import { chunkOf, type StreamContext, type UIMessageChunk } from './chunk.ts'
import { type AiSdkExtension, EXTENSION } from './extension.ts'

const NONE: readonly DecodedChunk[] = []

/** Understands a UI message stream: ours, or that of a server of the AI SDK. */
export class AiSdkDecoder implements Decoder<UIMessageChunk> {
  #status: EndStatus | undefined
  #messageId: string | undefined
  #steps = 0
  readonly #approvals = new Map<string, string>()
  readonly #inputs = new Map<string, Json>()
  readonly #known: StreamContext = { approvals: this.#approvals, inputs: this.#inputs }
  /** The calls that nobody has answered yet, and that are somebody's to answer. */
  readonly #waiting = new Set<string>()

  get status(): EndStatus | undefined {
    return this.#status
  }

  decode(event: UIMessageChunk): readonly DecodedChunk[] {
    if (typeof event?.type !== 'string')
      throw new ProtocolError('invalid-chunk', 'chunk: expected an object with a type')
    const guest = expectOrigin(event.millraceOrigin)
    if (event.type === EXTENSION)
      return event.millrace === null ? NONE : this.#extension(event as { data?: unknown }, guest)
    if (event.millrace === undefined && (event.type === 'finish-step' || event.type === 'reset-step'))
      return this.#committed(event.type).map(chunk => this.#told(chunk))
    const chunk = chunkMeant(chunkOf(event, this.#known), event.millrace)
    if (event.type === 'start' && event.messageId !== undefined)
      this.#messageId = expectString(event.messageId, 'chunk start.messageId')
    this.#follow(event, chunk)
    if (event.type === 'tool-approval-request') this.#approvals.set(event.approvalId, event.toolCallId)
    else if (event.type === 'tool-input-available') this.#inputs.set(event.toolCallId, event.input as Json)
    return chunk === undefined ? NONE : [this.#told(chunk, guest)]
  }

  #told(chunk: Chunk, guest?: Origin): DecodedChunk {
    if (guest) return { chunk, origin: guest }
    return this.#messageId === undefined ? { chunk } : { chunk, messageId: this.#messageId }
  }

  #extension({ data }: { readonly data?: unknown }, guest: Origin | undefined): readonly DecodedChunk[] {
    const { chunk, origin: said } = (data ?? {}) as Partial<AiSdkExtension>
    if (typeof chunk?.type !== 'string')
      throw new ProtocolError('invalid-chunk', `chunk ${EXTENSION}.data: expected { chunk }`)
    validated(chunk)
    const origin = expectOrigin(said)
    if (origin) return [{ chunk, origin }]
    if (chunk.type === 'run-finished') this.#status = chunk.status
    else if (chunk.type === 'run-paused') this.#status = 'paused'
    else if (chunk.type === 'run-resumed') this.#status = undefined
    return [this.#told(chunk, guest)]
  }

  /** What another's server says of its steps: one that is over stays, and one that is reset begins anew. */
  #committed(type: 'finish-step' | 'reset-step'): readonly Chunk[] {
    if (type === 'reset-step') return [{ type: 'step-discarded', reason: 'reset' }, { type: 'step-start' }]
    this.#steps++
    return [{ type: 'checkpoint-created', checkpointId: `step-${this.#steps}`, closesStep: true }]
  }

  /** Sees how the run stands. */
  #follow(event: UIMessageChunk, chunk: Chunk | undefined): void {
    // What a finish stands for says it better: pages are told another reason where that keeps them from sending.
    this.#status = statusAfter(this.#status, chunk?.type === 'finish' ? chunk : event, this.#waiting.size > 0)
    switch (event.type) {
      case 'tool-input-available':
        if (!event.providerExecuted) this.#waiting.add(event.toolCallId)
        break
      case 'tool-output-available':
        if (!event.preliminary) this.#waiting.delete(event.toolCallId)
        break
      case 'tool-output-error':
      case 'tool-output-denied':
        this.#waiting.delete(event.toolCallId)
        break
      default:
    }
  }
}
