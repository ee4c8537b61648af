import type { DecodedChunk, Encoder, EndStatus } from '@millrace/dialects'

/** The last event that a client has: the entries from `first` to `sequence`, and the index of one of their events. */
interface WrittenPosition {
  readonly sequence: number
  /** @default `sequence` */
  readonly first?: number
  /** @default all events */
  readonly event?: number
}

/** Entries whose events are counted together: a single one, or a window whose deltas are merged. */
export interface EventRange {
  readonly first: number
  readonly last: number
  /** Prefix of the event ids. */
  readonly id: string
}

/** Encodes entries as events of a dialect, from a position on. Earlier entries only update the encoder. */
export class EventWriter<Event> {
  readonly #encoder: Encoder<Event>
  readonly #write: (event: Event, eventId: string) => string
  readonly #after: WrittenPosition | undefined
  #isMuted: boolean
  #range: EventRange
  /** Number of events of the range that were encoded. */
  #count = 0
  /** Number of events that the client has of the window that it resumes in. */
  #passed = 0

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
    this.#range = { first: 0, last: 0, id: start }
  }

  /** Encodes an entry of a range as text. */
  writeEntry(entry: DecodedChunk, range: EventRange): string {
    const { sequence = 0 } = this.#after ?? {}
    if (!this.#isMuted || range.first > sequence) {
      const first = this.#unmute()
      this.#enter(range)
      return first + this.#text(this.#encoder.encode(entry))
    }
    const events = this.#encoder.encode(entry)
    this.#enter(range)
    const had = this.#countOfHad(events.length, range)
    this.#count += had
    return had === events.length ? '' : this.#unmute() + this.#text(events.slice(had))
  }

  /** The events that end the stream, after the last entry. `last` is encoded first: a chunk that the log does not hold. */
  end(status: EndStatus, last?: DecodedChunk): string {
    const first = this.#unmute()
    return first + this.#text([...(last ? this.#encoder.encode(last) : []), ...this.#encoder.end(status)])
  }

  #enter(range: EventRange): void {
    if (range.id === this.#range.id) return
    this.#range = range
    this.#count = 0
  }

  /** How many of the next events the client has. */
  #countOfHad(count: number, { last }: EventRange): number {
    const { sequence = 0, first = sequence, event } = this.#after ?? {}
    if (event === undefined || last < first) return count
    const had = Math.min(count, Math.max(0, event + 1 - this.#passed))
    this.#passed += count
    return had
  }

  /** The events that a resumed stream starts with. Their ids resume from the same position. */
  #unmute(): string {
    if (!this.#isMuted) return ''
    this.#isMuted = false
    let text = ''
    this.#encoder.resume().forEach((event, i) => {
      text += this.#write(event, `${this.#idOf(Math.max(0, this.#count - 1))}.${i}`)
    })
    return text
  }

  #text(events: readonly Event[]): string {
    let text = ''
    for (const event of events) text += this.#write(event, this.#idOf(this.#count++))
    return text
  }

  /** Merged entries are named by their last and their first one. */
  #idOf(index: number): string {
    const { first, last, id } = this.#range
    return first === last ? `${id}.${index}` : `${id}.${index}-${first}`
  }
}
