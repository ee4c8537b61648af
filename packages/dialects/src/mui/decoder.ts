import { type Chunk, type Origin, ProtocolError } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import type { DecodedChunk } from '../dialect/dialect.ts'
import { RunDecoder } from '../dialect/run-decoder.ts'
import { statusAfter } from '../dialect/status-after.ts'
import { applySupplement } from '../dialect/supplement.ts'
import { expectObject, expectOrigin, expectString, validated } from '../dialect/validate.ts'
import { eventToChunk } from './events/event-to-chunk.ts'
import { isExtension, type MuiEvent, type MuiExtension, type MuiOrigin } from './events/mui-event.ts'
import type { ChatStreamEnvelope } from './types.ts'

const NONE: readonly DecodedChunk[] = []

/** Decodes chunks of MUI X Chat, with or without envelopes, from Millrace or from another adapter. The caller handles order and repeats. */
export class MuiDecoder extends RunDecoder<MuiEvent | ChatStreamEnvelope> {
  #messageId: string | undefined
  #isPaused = false
  /** Ids of calls that wait for approval. */
  readonly #pendingApprovals = new Set<string>()

  protected override decodeNext(received: MuiEvent | ChatStreamEnvelope): readonly DecodedChunk[] {
    const event = withoutEnvelope(received)
    if (isExtension(event)) return this.#extension(event)
    const chunk = applySupplement(eventToChunk(event), event.millrace)
    if (event.type === 'start' && event.messageId !== undefined)
      this.#messageId = expectString(event.messageId, 'chunk start.messageId')
    const decoded = chunk === undefined ? NONE : [this.#decodedChunk(chunk, event.origin)]
    this.#updateStatus(event)
    return decoded
  }

  #decodedChunk(chunk: Chunk, wireOrigin: MuiOrigin | undefined): DecodedChunk {
    const origin = wireOrigin === undefined ? undefined : originOf(expectObject(wireOrigin, 'chunk.origin'))
    if (origin) return { chunk, origin }
    return this.#messageId === undefined ? { chunk } : { chunk, messageId: this.#messageId }
  }

  #extension(event: MuiEvent & { readonly data: unknown }): readonly DecodedChunk[] {
    // A mark of the stream position.
    if (event.data === undefined) return NONE
    const { chunk } = (event.data ?? {}) as Partial<MuiExtension>
    if (typeof chunk?.type !== 'string')
      throw new ProtocolError('invalid-chunk', `chunk ${event.type}.data: expected { chunk }`)
    const decoded = this.#decodedChunk(validated(chunk), event.origin)
    if (event.origin === undefined) {
      if (chunk.type === 'run-finished') this.end(chunk.status)
      else if (chunk.type === 'run-paused') this.#isPaused = true
      else if (chunk.type === 'run-resumed') this.#isPaused = false
    }
    return [decoded]
  }

  /** Updates the status of the run. */
  #updateStatus(event: MuiEvent): void {
    this.endStatus = statusAfter(this.endStatus, event, this.#isPaused || this.#pendingApprovals.size > 0)
    if (event.type === 'error') this.end('failed')
    switch (event.type) {
      case 'tool-approval-request':
        this.#pendingApprovals.add(event.toolCallId)
        break
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
        this.#pendingApprovals.delete(event.toolCallId)
        break
      default:
    }
  }
}

/** The origin of a sub-agent or a guest. Undefined if only the lane is sent. */
const originOf = (wireOrigin: { readonly [name: string]: unknown }): Origin | undefined =>
  wireOrigin['agentId'] === undefined && wireOrigin['guest'] === undefined ? undefined : expectOrigin(wireOrigin)

/** Removes the envelope. */
function withoutEnvelope(received: MuiEvent | ChatStreamEnvelope): MuiEvent {
  const event: unknown = isObject(received) && 'chunk' in received ? received.chunk : received
  if (typeof (event as Partial<MuiEvent> | null | undefined)?.type === 'string') return event as MuiEvent
  throw new ProtocolError('invalid-chunk', 'chunk: expected an object with a type')
}
