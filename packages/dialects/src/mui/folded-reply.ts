import { type Chunk, type Entry, Fold, type Message, messageIdOf, type Origin } from '@millrace/protocol'
import type { EndStatus } from '../dialect/dialect.ts'
import { chatMessageOf, keptOf, type PlacedPart, placedParts } from './chat-message.ts'
import type { MuiEvent, WireOrigin } from './chunk.ts'
import { MuiDecoder } from './decoder.ts'
import { MAIN_LANE } from './encoder.ts'
import type { ChatMessage } from './types.ts'

/** A reply as the log has it, folded from what is said of it: what a page should show, whatever its runtime makes of the chunks. */
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

  /** How the run stands; undefined while it is under way. */
  get status(): EndStatus | undefined {
    return this.#decoder.status
  }

  /** What went wrong, where the run failed. */
  get error(): string {
    return this.#error ?? 'The run failed.'
  }

  /** Takes what was said at a sequence; tells which chunk that was, if it was one. */
  take(event: MuiEvent, sequence: number): Chunk | undefined {
    if (event.type === 'error') this.#error = event.errorText
    const [told] = this.#decoder.decode(event)
    // What a rewind took back was no part of this reply.
    if (told === undefined || told.chunk.type === 'rewind') return undefined
    const { chunk } = told
    const entry: Entry = { sequence, timestamp: Date.now(), origin: this.#originOf(event.origin), chunk }
    this.#fold.apply([entry])
    return chunk
  }

  /** The parts as they stand. */
  get parts(): PlacedPart[] {
    const { message } = this
    return message ? placedParts(message, keptOf(this.#fold.view(), message)) : []
  }

  get message(): Message | undefined {
    return this.#fold.message(this.messageId)
  }

  /** The id of the approval of a call. */
  approvalOf(toolCallId: string): string | undefined {
    for (const part of this.message?.parts ?? [])
      if ('toolCallId' in part && part.toolCallId === toolCallId) return part.approval?.id
    return undefined
  }

  /** The message as it stands; undefined before anything was said. */
  get chatMessage(): ChatMessage | undefined {
    const { message } = this
    return message && chatMessageOf(message, this.parts)
  }

  #originOf(by: WireOrigin | undefined): Origin {
    if (by === undefined) return this.#origin
    return by.guest !== undefined || 'agentId' in by ? (by as Origin) : { ...this.#origin, lane: by.lane as string }
  }
}
