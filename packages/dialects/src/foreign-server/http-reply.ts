import type { DecodedChunk, Decoder, EndStatus } from '../dialect/dialect.ts'
import { type EventFormat, formatOf, jsonEventOf, readEvents, type WireEvent } from '../http/event-reader.ts'
import type { ForeignReply } from './foreign-server.ts'

/** Options of a reply. */
export interface HttpReplyOptions<Event> {
  /** Format of the body. @default the format that the content type names */
  readonly format?: EventFormat | undefined
  /** Turns an event on the wire into one of the dialect, undefined for none. @default parses the data as JSON, and ignores `[DONE]` */
  readonly eventOf?: ((event: WireEvent) => Event | undefined) | undefined
  /** Whether the reply repeats a dropped one from its start. @default false */
  readonly isReplay?: boolean | undefined
}

/** A reply in the body of an HTTP response, decoded by a dialect. */
export class HttpReply<Event> implements ForeignReply {
  isReplay: boolean
  /** The id of the last event, if the server sends ids. */
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

  /** Marks the reply as a replay from the start, to be decoded by a new decoder. */
  restart(decoder: Decoder<Event>): void {
    this.isReplay = true
    this.#decoder = decoder
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly DecodedChunk[], void, undefined> {
    const { body } = this.#response
    if (!body) return
    const { format = formatOf(this.#response), eventOf = jsonEventOf } = this.#options
    for await (const events of readEvents(body, format)) {
      const chunks: DecodedChunk[] = []
      let failed: { readonly error: unknown } | undefined
      try {
        for (const wire of events) {
          const event = eventOf(wire) as Event | undefined
          if (event !== undefined) chunks.push(...this.#decoder.decode(event))
          if (wire.id !== undefined) this.lastId = wire.id
        }
      } catch (error) {
        failed = { error }
      }
      // Chunks before an error are delivered first.
      if (chunks.length > 0) yield chunks
      if (failed) throw failed.error
      // Nothing counts after a failure, and some servers keep the connection open.
      if (this.status === 'failed') return
    }
  }
}
