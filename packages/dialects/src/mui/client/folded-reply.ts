import { type Chunk, type Entry, Fold, type Message, messageIdOf, type Origin } from '@millrace/protocol'
import { MAIN_LANE } from '@millrace/protocol/internal'
import type { EndStatus } from '../../dialect/dialect.ts'
import { MuiDecoder } from '../decoder.ts'
import type { MuiEvent, MuiOrigin } from '../events/mui-event.ts'
import { chatMessageOf, extensionPartsOf, type PositionedPart, positionedPartsOf } from '../messages/chat-messages.ts'
import type { ChatMessage } from '../types.ts'

/** A reply folded from its events, as the page should show it. The runtime of MUI X Chat may show it differently. */
export class FoldedReply {
  readonly messageId: string
  readonly #fold = new Fold()
  readonly #decoder = new MuiDecoder()
  readonly #origin: Extract<Origin, { guest?: never }>
  #error: string | undefined

  constructor(runId: string) {
    this.messageId = messageIdOf(runId, runId)
    this.#origin = { runId, lane: MAIN_LANE, agentId: runId, agentType: '', step: 0 }
  }

  /** Undefined while the run is open. */
  get status(): EndStatus | undefined {
    return this.#decoder.status
  }

  /** The error of a failed run. */
  get error(): string {
    return this.#error ?? 'The run failed.'
  }

  /** Applies an event. Returns its chunk, if it has one. */
  apply(event: MuiEvent, sequence: number): Chunk | undefined {
    if (event.type === 'error') this.#error = event.errorText
    const [decoded] = this.#decoder.decode(event)
    // A rewind only removes content before this reply.
    if (decoded === undefined || decoded.chunk.type === 'rewind') return undefined
    const { chunk } = decoded
    const entry: Entry = { sequence, timestamp: Date.now(), origin: this.#originOf(event.origin), chunk }
    this.#fold.apply([entry])
    return chunk
  }

  get parts(): PositionedPart[] {
    const { message } = this
    return message ? positionedPartsOf(message, extensionPartsOf(this.#fold.view(), message)) : []
  }

  get message(): Message | undefined {
    return this.#fold.message(this.messageId)
  }

  /** The approval id of a call. */
  approvalOf(toolCallId: string): string | undefined {
    for (const part of this.message?.parts ?? [])
      if ('toolCallId' in part && part.toolCallId === toolCallId) return part.approval?.id
    return undefined
  }

  /** Undefined before the first content. */
  get chatMessage(): ChatMessage | undefined {
    const { message } = this
    return message && chatMessageOf(message, this.parts)
  }

  #originOf(wireOrigin: MuiOrigin | undefined): Origin {
    if (wireOrigin === undefined) return this.#origin
    return wireOrigin.guest !== undefined || 'agentId' in wireOrigin
      ? (wireOrigin as Origin)
      : { ...this.#origin, lane: wireOrigin.lane as string }
  }
}
