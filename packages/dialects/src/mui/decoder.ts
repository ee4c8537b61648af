import { type Chunk, type Origin, ProtocolError } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import type { DecodedChunk, Decoder, EndStatus } from '../dialect/dialect.ts'
import { statusAfter } from '../dialect/status-after.ts'
import { applySupplement } from '../dialect/supplement.ts'
import { expectObject, expectOrigin, expectString, validated } from '../dialect/validate.ts'
import { chunkOf, isExtension, type MuiEvent, type MuiExtension, type WireOrigin } from './chunk.ts'
import type { ChatStreamEnvelope } from './types.ts'

const NONE: readonly DecodedChunk[] = []

/** Understands chunks of MUI X Chat, in envelopes or not: ours, or those of another's adapter. Order and repeats are the affair of who reads them. */
export class MuiDecoder implements Decoder<MuiEvent | ChatStreamEnvelope> {
  #status: EndStatus | undefined
  #messageId: string | undefined
  #isPaused = false
  /** The calls that somebody is asked to approve. */
  readonly #asked = new Set<string>()

  get status(): EndStatus | undefined {
    return this.#status
  }

  decode(said: MuiEvent | ChatStreamEnvelope): readonly DecodedChunk[] {
    const event = eventIn(said)
    if (isExtension(event)) return this.#extension(event)
    const chunk = applySupplement(chunkOf(event), event.millrace)
    if (event.type === 'start' && event.messageId !== undefined)
      this.#messageId = expectString(event.messageId, 'chunk start.messageId')
    const told = chunk === undefined ? NONE : [this.#told(chunk, event.origin)]
    this.#follow(event)
    return told
  }

  #told(chunk: Chunk, by: WireOrigin | undefined): DecodedChunk {
    const origin = by === undefined ? undefined : writerOf(expectObject(by, 'chunk.origin'))
    if (origin) return { chunk, origin }
    return this.#messageId === undefined ? { chunk } : { chunk, messageId: this.#messageId }
  }

  #extension(event: MuiEvent & { readonly data: unknown }): readonly DecodedChunk[] {
    // A mark: it says how far everything has been said.
    if (event.data === undefined) return NONE
    const { chunk } = (event.data ?? {}) as Partial<MuiExtension>
    if (typeof chunk?.type !== 'string')
      throw new ProtocolError('invalid-chunk', `chunk ${event.type}.data: expected { chunk }`)
    const told = this.#told(validated(chunk), event.origin)
    if (event.origin === undefined) {
      if (chunk.type === 'run-finished') this.#status = chunk.status
      else if (chunk.type === 'run-paused') this.#isPaused = true
      else if (chunk.type === 'run-resumed') this.#isPaused = false
    }
    return [told]
  }

  /** Sees how the run stands. */
  #follow(event: MuiEvent): void {
    this.#status = statusAfter(this.#status, event, this.#isPaused || this.#asked.size > 0)
    switch (event.type) {
      case 'tool-approval-request':
        this.#asked.add(event.toolCallId)
        break
      case 'tool-output-available':
      case 'tool-output-error':
      case 'tool-output-denied':
        this.#asked.delete(event.toolCallId)
        break
      default:
    }
  }
}

/** Who wrote it, where it was another than the run's own agent, of whose origin only the lane is said. */
const writerOf = (by: { readonly [name: string]: unknown }): Origin | undefined =>
  by['agentId'] === undefined && by['guest'] === undefined ? undefined : expectOrigin(by)

/** The chunk that was said, out of its envelope. */
function eventIn(said: MuiEvent | ChatStreamEnvelope): MuiEvent {
  const event: unknown = isObject(said) && 'chunk' in said ? said.chunk : said
  if (typeof (event as Partial<MuiEvent> | null | undefined)?.type === 'string') return event as MuiEvent
  throw new ProtocolError('invalid-chunk', 'chunk: expected an object with a type')
}
