import { type Chunk, type Json, type Origin, ProtocolError } from '@millrace/protocol'
import type { DecodedChunk } from '../dialect/dialect.ts'
import { RunDecoder } from '../dialect/run-decoder.ts'
import { statusAfter } from '../dialect/status-after.ts'
import { applySupplement } from '../dialect/supplement.ts'
import { expectOrigin, expectString, validated } from '../dialect/validate.ts'
import { eventToChunk, type StreamContext } from './events/event-to-chunk.ts'
import { type AiSdkExtension, EXTENSION } from './events/extension.ts'
import type { UIMessageChunk } from './types.ts'

const NONE: readonly DecodedChunk[] = []

/** Decodes a UI message stream, from Millrace or from a server of the AI SDK. */
export class AiSdkDecoder extends RunDecoder<UIMessageChunk> {
  #messageId: string | undefined
  #steps = 0
  readonly #approvals = new Map<string, string>()
  readonly #inputs = new Map<string, Json>()
  readonly #context: StreamContext = { approvals: this.#approvals, inputs: this.#inputs }
  /** Ids of calls without a result that this side may have to answer. */
  readonly #openCalls = new Set<string>()

  protected override decodeNext(event: UIMessageChunk): readonly DecodedChunk[] {
    if (typeof event?.type !== 'string')
      throw new ProtocolError('invalid-chunk', 'chunk: expected an object with a type')
    const guest = expectOrigin(event.millraceOrigin)
    if (event.type === EXTENSION)
      return event.millrace === null ? NONE : this.#extension(event as { data?: unknown }, guest)
    if (event.millrace === undefined && (event.type === 'finish-step' || event.type === 'reset-step'))
      return this.#stepChunks(event.type).map(chunk => this.#decoded(chunk))
    const chunk = applySupplement(eventToChunk(event, this.#context), event.millrace)
    if (event.type === 'start' && event.messageId !== undefined)
      this.#messageId = expectString(event.messageId, 'chunk start.messageId')
    this.#updateStatus(event, chunk)
    if (event.type === 'tool-approval-request') this.#approvals.set(event.approvalId, event.toolCallId)
    else if (event.type === 'tool-input-available') this.#inputs.set(event.toolCallId, event.input as Json)
    return chunk === undefined ? NONE : [this.#decoded(chunk, guest)]
  }

  #decoded(chunk: Chunk, guest?: Origin): DecodedChunk {
    if (guest) return { chunk, origin: guest }
    return this.#messageId === undefined ? { chunk } : { chunk, messageId: this.#messageId }
  }

  #extension({ data }: { readonly data?: unknown }, guest: Origin | undefined): readonly DecodedChunk[] {
    const { chunk, origin: value } = (data ?? {}) as Partial<AiSdkExtension>
    if (typeof chunk?.type !== 'string')
      throw new ProtocolError('invalid-chunk', `chunk ${EXTENSION}.data: expected { chunk }`)
    validated(chunk)
    const origin = expectOrigin(value)
    if (origin) return [{ chunk, origin }]
    if (chunk.type === 'run-finished') this.end(chunk.status)
    else if (chunk.type === 'run-paused') this.endStatus = 'paused'
    else if (chunk.type === 'run-resumed') this.endStatus = undefined
    return [this.#decoded(chunk, guest)]
  }

  /** A foreign server commits a step when it finishes, and discards it with a reset. */
  #stepChunks(type: 'finish-step' | 'reset-step'): readonly Chunk[] {
    if (type === 'reset-step') return [{ type: 'step-discarded', reason: 'reset' }, { type: 'step-start' }]
    this.#steps++
    return [{ type: 'checkpoint-created', checkpointId: `step-${this.#steps}`, closesStep: true }]
  }

  /** Updates the status of the run. */
  #updateStatus(event: UIMessageChunk, chunk: Chunk | undefined): void {
    // The supplement of a finish has the real reason: clients may be sent another one so that they do not send again.
    this.endStatus = statusAfter(this.endStatus, chunk?.type === 'finish' ? chunk : event, this.#openCalls.size > 0)
    if (event.type === 'error') this.end('failed')
    switch (event.type) {
      case 'tool-input-available':
        if (!event.providerExecuted) this.#openCalls.add(event.toolCallId)
        break
      case 'tool-output-available':
        if (!event.preliminary) this.#openCalls.delete(event.toolCallId)
        break
      case 'tool-output-error':
      case 'tool-output-denied':
        this.#openCalls.delete(event.toolCallId)
        break
      default:
    }
  }
}
