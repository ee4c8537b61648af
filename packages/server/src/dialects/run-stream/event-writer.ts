import type { DecodedChunk, Encoder, EndStatus } from '@millrace/dialects'

/** The last event that a client has: an entry and the index of its event. @default all events of the entry */
interface WrittenPosition {
  readonly sequence: number
  readonly event?: number
}

/** Encodes entries as events of a dialect, from a position on. Earlier entries only update the encoder. */
export class EventWriter<Event> {
  readonly #encoder: Encoder<Event>
  readonly #write: (event: Event, eventId: string) => string
  readonly #after: WrittenPosition | undefined
  #isMuted: boolean
  /** Id of the latest entry, and the number of its events that were encoded. */
  #entryId: string
  #count = 0

  /** `start` is the event id before the first entry. */
  constructor(
    encoder: Encoder<Event>,
    write: (event: Event, eventId: string) => string,
    { after, start = '0' }: { readonly after?: WrittenPosition | undefined; readonly start?: string } = {},
  ) {
    this.#encoder = encoder
    this.#write = write
    this.#after = after
    this.#isMuted = after !== undefined
    this.#entryId = start
  }

  /** Encodes an entry as text. `idPrefix` is the prefix of its event ids. */
  writeEntry(entry: DecodedChunk & { readonly sequence: number }, idPrefix = `${entry.sequence}`): string {
    const { sequence } = entry
    const { sequence: last = 0, event } = this.#after ?? {}
    if (sequence > last) {
      const first = this.#unmute()
      this.#entryId = idPrefix
      this.#count = 0
      return first + this.#text(this.#encoder.encode(entry))
    }
    const events = this.#encoder.encode(entry)
    this.#entryId = idPrefix
    const hasAll = sequence < last || event === undefined || event + 1 >= events.length
    this.#count = hasAll ? events.length : event + 1
    return hasAll ? '' : this.#unmute() + this.#text(events.slice(event + 1))
  }

  /** The events that end the stream, after the last entry. */
  end(status: EndStatus): string {
    return this.#unmute() + this.#text(this.#encoder.end(status))
  }

  /** The events that a resumed stream starts with. Their ids resume from the same position. */
  #unmute(): string {
    if (!this.#isMuted) return ''
    this.#isMuted = false
    let text = ''
    this.#encoder.resume().forEach((event, i) => {
      text += this.#write(event, `${this.#entryId}.${Math.max(0, this.#count - 1)}.${i}`)
    })
    return text
  }

  #text(events: readonly Event[]): string {
    let text = ''
    for (const event of events) text += this.#write(event, `${this.#entryId}.${this.#count++}`)
    return text
  }
}
