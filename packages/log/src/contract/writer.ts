import type { Cursor } from '@millrace/protocol'
import type { AppendResult, Batch, Due, GuestAppend, LogStore, TicketMove, WriterAppend } from '../store/log-store.ts'
import { randomName } from '../store/names.ts'

/** A minimal writer: counts its appends and remembers the last acknowledged entry. */
export class ContractWriter {
  readonly epoch: string
  readonly until: number
  counter = 0
  lastAcked: Cursor
  readonly #store: LogStore
  readonly #streamId: string

  constructor(store: LogStore, streamId: string, claim: { epoch: string; until: number }, lastAcked: Cursor) {
    this.#store = store
    this.#streamId = streamId
    this.epoch = claim.epoch
    this.until = claim.until
    this.lastAcked = lastAcked
  }

  /** The identification of its next append. */
  get by(): WriterAppend {
    return { epoch: this.epoch, counter: this.counter + 1, lastAcked: this.lastAcked }
  }

  async append(batch: Batch, ticket?: TicketMove): Promise<AppendResult> {
    const result = await this.#store.append(this.#streamId, batch, this.by, ticket)
    if (result.outcome === 'appended') {
      this.counter++
      this.lastAcked = { sequence: result.last, incarnation: this.lastAcked.incarnation, epoch: this.epoch }
    }
    return result
  }
}

/** A guest's append, by default under a random key. */
export function guest(key = randomName(), keep = false): GuestAppend {
  return { key, keep, nonce: randomName() }
}

/** A batch with one entry for each text. */
export const batch = (...texts: string[]): Batch => ({
  body: JSON.stringify(texts.map(text => ({ text }))),
  count: texts.length,
})

/** A batch of one entry with a body of exactly this many bytes, in characters of one byte or of three. */
export function batchOf(bytes: number, wide = false): Batch {
  const inside = bytes - '[""]'.length
  const text = wide ? '語'.repeat(Math.floor(inside / 3)) + 'x'.repeat(inside % 3) : 'x'.repeat(inside)
  return { body: `["${text}"]`, count: 1 }
}

/** A ticket move. By default nothing is due. */
export function move(ifVersion: string, state: string, due: Due = { at: null, program: null }): TicketMove {
  return { ifVersion, next: { state, due } }
}

/** The texts of a batch's body. */
export const textsOf = (body: string): string[] => (JSON.parse(body) as { text: string }[]).map(({ text }) => text)

/** A batch of a writer's entries with these chunks. */
export function batchOfChunks(...chunks: { type: string; [field: string]: unknown }[]): Batch {
  const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'agent', step: 1 }
  return { body: JSON.stringify(chunks.map(chunk => ({ origin, chunk }))), count: chunks.length }
}
