// Events of a response body, from any server: Server-Sent Events by the standard, or lines of JSON.

import { ProtocolError } from '@millrace/protocol'
import { LineSplitter } from '@millrace/protocol/internal'

/** One event. The data of a mark, an event that has only an id, is empty. */
export interface WireEvent {
  /** The last id in the stream: of this event, or of one before it. */
  readonly id?: string
  /** Name of the event. Undefined if the stream has none. */
  readonly event?: string
  /** Data of the event. Lines are joined by a line break. */
  readonly data: string
}

/** How events are written: as Server-Sent Events, or one JSON value per line. */
export type EventFormat = 'sse' | 'ndjson'

/** Default bound of one event, in characters. */
const MAX_EVENT_LENGTH = 16 * 1024 * 1024

/** Parses the bytes of one body, split anywhere, into events. */
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

  /**
   * @param maxLength Bound of one event, in characters. @default 16777216
   * @param withMarks Whether to return marks. The standard ignores them.
   */
  constructor(format: EventFormat = 'sse', maxLength: number = MAX_EVENT_LENGTH, withMarks = false) {
    this.#format = format
    this.#maxLength = maxLength
    this.#withMarks = withMarks
  }

  /**
   * Takes more of the body, and returns the events that are complete.
   * @param events Array to add them to. It has the events before an error, too.
   * @throws a `ProtocolError` for an event that is too long.
   */
  push(bytes: Uint8Array | string, events: WireEvent[] = []): WireEvent[] {
    const text = typeof bytes === 'string' ? bytes : this.#utf8.decode(bytes, { stream: true })
    for (const line of this.#lines.push(text)) this.#line(line, events)
    this.#bound(this.#lines.length)
    return events
  }

  /** Ends the body. Returns a last line that is complete JSON and has no line end. */
  end(): WireEvent[] {
    const rest = this.#lines.end() + this.#utf8.decode()
    if (this.#format === 'sse') {
      if (rest !== '') this.#field(rest)
    } else if (isJson(rest)) return [{ data: rest }]
    else if (rest.trim() !== '') this.#data = rest
    return []
  }

  /** Data of the event that the body ended in. Undefined if its last event is complete. Call `end` first. */
  get incomplete(): string | undefined {
    return this.#data
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
      // Most events have only data.
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

/** The format that the content type of a response names. */
export const formatOf = (reply: Response): EventFormat =>
  /ndjson|jsonl|json-?lines/i.test(reply.headers.get('content-type') ?? '') ? 'ndjson' : 'sse'

/**
 * Reads the events of a body, on demand. Yields events that arrive together at once. Leaving the loop cancels the body.
 * @param maxLength Bound of one event, in characters. @default 16777216
 * @throws a `ProtocolError` for an event that is too long.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  format: EventFormat = 'sse',
  maxLength?: number,
): AsyncGenerator<readonly WireEvent[], void, undefined> {
  const parser = new EventReader(format, maxLength)
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const events = done ? parser.end() : parser.push(value)
      if (events.length > 0) yield events
      if (done) return
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/**
 * The JSON of an event's data. Undefined for `[DONE]`, with which some servers end a stream.
 * @throws a `ProtocolError` if the data is not JSON.
 */
export function jsonEventOf({ data }: WireEvent): unknown {
  if (data === '[DONE]') return undefined
  try {
    return JSON.parse(data)
  } catch {
    throw new ProtocolError('invalid-json', `event: expected JSON, found ${JSON.stringify(data.slice(0, 40))}`)
  }
}
