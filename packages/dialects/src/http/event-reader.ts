// The events of a body, whoever sent it: Server-Sent Events as the standard has them, or lines of JSON.

import { ProtocolError } from '@millrace/protocol'
import { LineSplitter } from '@millrace/protocol/internal'

/** One event: its `data`, as text, and what stood beside it. Of a mark, which says just a place, the data is empty. */
export interface WireEvent {
  /** The last id that was said, in this event or before. */
  readonly id?: string
  readonly event?: string
  readonly data: string
}

/** How events are written: as Server-Sent Events, or one a line. */
export type EventFormat = 'sse' | 'ndjson'

/** The most characters that one event may have, unless it is told otherwise. */
export const MAX_EVENT_LENGTH = 16 * 1024 * 1024

/** Turns the bytes of one body, split anywhere, into events. What is cut off at its end is none. */
export class EventReader {
  readonly #lines = new LineSplitter()
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #format: EventFormat
  readonly #maxLength: number
  readonly #withMarks: boolean
  #id: string | undefined
  #isMarked = false
  #event: string | undefined
  #data: string | undefined

  /** `withMarks` gives what has an id and no data, too, which the standard passes over. */
  constructor(format: EventFormat = 'sse', maxLength: number = MAX_EVENT_LENGTH, withMarks = false) {
    this.#format = format
    this.#maxLength = maxLength
    this.#withMarks = withMarks
  }

  /** Takes what arrived, and gives the events that it ends; throws a `ProtocolError` for one that is too long. */
  push(bytes: Uint8Array | string): WireEvent[] {
    const text = typeof bytes === 'string' ? bytes : this.#utf8.decode(bytes, { stream: true })
    const events: WireEvent[] = []
    for (const line of this.#lines.push(text)) this.#line(line, events)
    this.#bound(this.#lines.length)
    return events
  }

  /** The body is over: a last line of JSON may lack its end, if it is whole. */
  end(): WireEvent[] {
    const rest = this.#lines.end()
    if (this.#format === 'sse' || !isJson(rest)) return []
    return [{ data: rest }]
  }

  #line(line: string, events: WireEvent[]): void {
    this.#bound(line.length)
    if (this.#format === 'ndjson') {
      if (line.trim() !== '') events.push({ data: line })
    } else if (line === '') this.#dispatch(events)
    else this.#field(line)
  }

  #dispatch(events: WireEvent[]): void {
    const data = this.#data
    const id = this.#id
    const event = this.#event
    if (data !== undefined) {
      // Most have nothing beside it.
      if (id === undefined && event === undefined) events.push({ data })
      else events.push({ ...(id !== undefined && { id }), ...(event !== undefined && { event }), data })
    } else if (this.#isMarked && this.#withMarks) events.push({ id: id as string, data: '' })
    this.#data = undefined
    this.#event = undefined
    this.#isMarked = false
  }

  #field(line: string): void {
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') {
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
      this.#bound(this.#data.length)
    } else if (name === 'event') this.#event = value
    else if (name === 'id' && !value.includes('\0')) {
      this.#id = value
      this.#isMarked = true
    }
  }

  #bound(length: number): void {
    if (length > this.#maxLength)
      throw new ProtocolError('line-too-long', `event: expected at most ${this.#maxLength} characters`)
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** How the events of a response are written, by what it says of itself. */
export const formatOf = (reply: Response): EventFormat =>
  /ndjson|jsonl|json-?lines/i.test(reply.headers.get('content-type') ?? '') ? 'ndjson' : 'sse'

/** The events of a body, those that came at once together, read only as they are asked for; who leaves the loop lets go of the body. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  format: EventFormat = 'sse',
  maxLength?: number,
): AsyncGenerator<readonly WireEvent[], void, undefined> {
  const reading = new EventReader(format, maxLength)
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const events = done ? reading.end() : reading.push(value)
      if (events.length > 0) yield events
      if (done) return
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** The JSON that an event holds; undefined for the `[DONE]` of those who say that. */
export function jsonEventOf({ data }: WireEvent): unknown {
  if (data === '[DONE]') return undefined
  try {
    return JSON.parse(data)
  } catch {
    throw new ProtocolError('invalid-json', `event: expected JSON, found ${JSON.stringify(data.slice(0, 40))}`)
  }
}
