import type { DecodedChunk, Decoder, EndStatus } from '../dialect/dialect.ts'
import { type EventFormat, formatOf, jsonEventOf, readEvents, type WireEvent } from '../http/event-reader.ts'
import type { ForeignReply } from './foreign-server.ts'

export interface HttpReplyOptions<Event> {
  /** How its events are written; as its content type says, if nothing is said. */
  readonly format?: EventFormat | undefined
  /** The dialect's event of one on the wire; undefined, where that is none. The JSON of its data, but for `[DONE]`, if nothing is said. */
  readonly eventOf?: ((event: WireEvent) => Event | undefined) | undefined
  readonly isReplay?: boolean | undefined
}

/** What a response says in a dialect. */
export class HttpReply<Event> implements ForeignReply {
  isReplay: boolean
  /** The id of the last event that was read, where the peer gives ids. */
  lastId: string | undefined
  readonly #response: Response
  #decoder: Decoder<Event>
  readonly #options: HttpReplyOptions<Event>

  constructor(response: Response, decoder: Decoder<Event>, options: HttpReplyOptions<Event> = {}) {
    this.#response = response
    this.#decoder = decoder
    this.#options = options
    this.isReplay = options.isReplay ?? false
  }

  get status(): EndStatus | undefined {
    return this.#decoder.status
  }

  /** It turns out to begin where the one before began: nothing that was understood of that one holds. */
  restart(decoder: Decoder<Event>): void {
    this.isReplay = true
    this.#decoder = decoder
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly DecodedChunk[], void, undefined> {
    const { body } = this.#response
    if (!body) return
    const { format = formatOf(this.#response), eventOf = jsonEventOf } = this.#options
    for await (const events of readEvents(body, format)) {
      const told: DecodedChunk[] = []
      let failed: { readonly error: unknown } | undefined
      try {
        for (const wire of events) {
          const event = eventOf(wire) as Event | undefined
          if (event !== undefined) told.push(...this.#decoder.decode(event))
          if (wire.id !== undefined) this.lastId = wire.id
        }
      } catch (error) {
        failed = { error }
      }
      // What came whole before an error is no worse for it.
      if (told.length > 0) yield told
      if (failed) throw failed.error
    }
  }
}
