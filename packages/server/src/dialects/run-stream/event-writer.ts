import type { DecodedChunk, Encoder, EndStatus } from '@millrace/dialects'

/** After which of the events of which entry somebody goes on; after all of them, if nothing is said. */
interface WrittenPosition {
  readonly sequence: number
  readonly event?: number
}

/** Says entries in a dialect, from a place on: before it all is heard by the encoder, and not said. */
export class EventWriter<Event> {
  readonly #encoder: Encoder<Event>
  readonly #write: (event: Event, place: string) => string
  readonly #after: WrittenPosition | undefined
  #isMuted: boolean
  /** The latest entry, as places name it, and how many of its events were said or heard. */
  #entry: string
  #count = 0

  /** `start` names the place before everything. */
  constructor(
    encoder: Encoder<Event>,
    write: (event: Event, place: string) => string,
    { after, start = '0' }: { readonly after?: WrittenPosition | undefined; readonly start?: string } = {},
  ) {
    this.#encoder = encoder
    this.#write = write
    this.#after = after
    this.#isMuted = after !== undefined
    this.#entry = start
  }

  /** What an entry says; `name` is what places in it begin with. */
  writeEntry(entry: DecodedChunk & { readonly sequence: number }, name = `${entry.sequence}`): string {
    const { sequence } = entry
    const { sequence: last = 0, event } = this.#after ?? {}
    if (sequence > last) {
      const first = this.#unmute()
      this.#entry = name
      this.#count = 0
      return first + this.#text(this.#encoder.encode(entry))
    }
    const events = this.#encoder.encode(entry)
    this.#entry = name
    const isHeard = sequence < last || event === undefined || event + 1 >= events.length
    this.#count = isHeard ? events.length : event + 1
    return isHeard ? '' : this.#unmute() + this.#text(events.slice(event + 1))
  }

  /** What closes the stream: it stands after the last entry. */
  end(status: EndStatus): string {
    return this.#unmute() + this.#text(this.#encoder.end(status))
  }

  /** What has to be said again before anything is said from a place on; who goes on after that goes on from the same place. */
  #unmute(): string {
    if (!this.#isMuted) return ''
    this.#isMuted = false
    let text = ''
    this.#encoder.resume().forEach((event, i) => {
      text += this.#write(event, `${this.#entry}.${Math.max(0, this.#count - 1)}.${i}`)
    })
    return text
  }

  #text(events: readonly Event[]): string {
    let text = ''
    for (const event of events) text += this.#write(event, `${this.#entry}.${this.#count++}`)
    return text
  }
}
