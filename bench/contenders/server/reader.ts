import { connect, type Socket } from 'node:net'
import type { Chunk } from '@millrace/protocol'
import { type Digest, digestOf, EMPTY_DIGEST, joinDigests } from './digest.ts'
import { type Address, type EntryFormat, entryText, type ReceivedEntries } from './session-server.ts'

/** One event: its text, and the entries that it covers. */
interface ReceivedEvent extends ReceivedEntries {
  /** Sequence before its first entry, and sequence of its last entry. They are equal if it has no entries. */
  readonly after: number
  readonly last: number
  /** Write times of its entries, if they contain them. */
  readonly writtenAt: readonly number[]
  /** Whether the reader is caught up. */
  readonly isCaughtUp: boolean
}

interface ReadEntry {
  readonly sequence: number
  readonly chunk: Chunk
}

/**
 * One connection over a raw socket, with the minimal HTTP parsing that these servers need. A missing, repeated or unordered entry throws,
 * which ends the process.
 */
export class Reader {
  readonly #format: EntryFormat
  readonly #clock: () => number
  readonly #socket: Socket
  readonly #streaming = Promise.withResolvers<void>()
  readonly #caughtUp = Promise.withResolvers<void>()
  #awaited: { readonly entries: number; readonly done: () => void } | undefined
  /** Unparsed part of the response: its head, then its chunked body. */
  #raw = ''
  #isBody = false
  #isChunked = false
  /** Remaining bytes of the current chunk, or of the complete body. */
  #due = 0
  /** Part of the body that is not a complete event yet. */
  #text = ''
  #last: number | undefined
  #entries = 0
  #digest: Digest = EMPTY_DIGEST
  #bytes = 0
  #times: number[] = []

  constructor({ port, path, format }: Address, clock: () => number) {
    this.#format = format
    this.#clock = clock
    this.#socket = connect({ port, host: '127.0.0.1' })
    this.#socket.setNoDelay(true)
    // The measured texts are ASCII: a byte is a character.
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (text: unknown) => this.#receive(text as string))
    this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\n\r\n`)
  }

  /** Resolves when the response has begun. */
  get connected(): Promise<void> {
    return this.#streaming.promise
  }

  /** Resolves when the reader is caught up. */
  get caughtUp(): Promise<void> {
    return this.#caughtUp.promise
  }

  /** Resolves when the reader has received `entries` entries since the last report. */
  received(entries: number): Promise<void> {
    return new Promise(done => {
      this.#awaited = { entries, done }
      this.#resolveAwaited()
    })
  }

  /** Returns the entries, bytes and latencies since the last report. */
  take(): ReceivedEntries & { bytes: number; times: number[] } {
    const report = { entries: this.#entries, digest: this.#digest, bytes: this.#bytes, times: this.#times }
    this.#entries = this.#bytes = 0
    this.#digest = EMPTY_DIGEST
    this.#times = []
    return report
  }

  close(): void {
    this.#socket.destroy()
  }

  #receive(text: string): void {
    this.#bytes += text.length
    if (!this.#isBody) {
      this.#raw += text
      const end = this.#raw.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = this.#raw.slice(0, end).toLowerCase()
      if (!head.startsWith('http/1.1 200')) throw new Error(`expected status 200, found ${head}`)
      this.#isBody = true
      this.#isChunked = head.includes('transfer-encoding: chunked')
      this.#due = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0)
      text = this.#raw.slice(end + 4)
      this.#raw = ''
    }
    if (this.#isChunked) this.#dechunk(text)
    else this.#body(text)
    this.#resolveAwaited()
  }

  #dechunk(text: string): void {
    let raw = this.#raw === '' ? text : this.#raw + text
    for (;;) {
      if (this.#due > 0) {
        this.#body(raw.length <= this.#due ? raw : raw.slice(0, this.#due))
        const taken = Math.min(raw.length, this.#due)
        this.#due -= taken
        raw = raw.slice(taken)
        if (this.#due > 0) break
        this.#due = -2
      }
      // The end of a chunk, then the length of the next.
      const start = -this.#due
      const end = raw.indexOf('\r\n', start)
      if (end < 0) break
      this.#due = Number.parseInt(raw.slice(start, end), 16)
      raw = raw.slice(end + 2)
      if (this.#due === 0) {
        this.#finish()
        break
      }
    }
    this.#raw = raw
  }

  #body(text: string): void {
    // A line end can be split between reads.
    const searchFrom = Math.max(0, this.#text.length - 1)
    this.#text += text
    if (this.#format === 'array') {
      if (!this.#isChunked && this.#text.length === this.#due) this.#finish()
      return
    }
    let from = 0
    for (let end = this.#text.indexOf('\n\n', searchFrom); end >= 0; end = this.#text.indexOf('\n\n', from)) {
      this.#event(this.#text.slice(from, end))
      from = end + 2
    }
    if (from > 0) this.#text = this.#text.slice(from)
  }

  #finish(): void {
    if (this.#format === 'array') this.#add(eventOf(JSON.parse(this.#text), undefined, true))
    this.#text = ''
  }

  #event(text: string): void {
    const event = parseEvent(this.#format, text)
    if (event) this.#add(event)
    else this.#streaming.resolve()
  }

  #add({ after, last, entries, digest, writtenAt, isCaughtUp }: ReceivedEvent): void {
    if (entries > 0) {
      if (this.#last !== undefined && after !== this.#last)
        throw new Error(`expected entry ${this.#last + 1}, found ${after + 1}`)
      this.#last = last
      this.#entries += entries
      this.#digest = joinDigests(this.#digest, digest)
      for (const at of writtenAt) this.#times.push(this.#clock() - at)
    }
    if (!isCaughtUp) return
    this.#streaming.resolve()
    this.#caughtUp.resolve()
  }

  #resolveAwaited(): void {
    if (this.#awaited === undefined || this.#entries < this.#awaited.entries) return
    this.#awaited.done()
    this.#awaited = undefined
  }
}

/** Many readers get the same events, so each is parsed once. */
const parsedEvents = new Map<string, ReceivedEvent | undefined>()

function parseEvent(format: EntryFormat, text: string): ReceivedEvent | undefined {
  if (parsedEvents.has(text)) return parsedEvents.get(text)
  const event = parseEventText(format, text)
  if (parsedEvents.size >= 256) parsedEvents.clear()
  parsedEvents.set(text, event)
  return event
}

/** Parses an event. Returns undefined for a comment. */
function parseEventText(format: EntryFormat, text: string): ReceivedEvent | undefined {
  const lines = text.split('\n')
  const field = (name: string) =>
    lines
      .find(line => line.startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trimStart()
  const data = field('data')
  if (data === undefined) return format === 'events' ? undefined : eventOf([], undefined, false)
  const value = JSON.parse(data)
  switch (format) {
    case 'events':
      return eventOf([value], undefined, false)
    case 'ours': {
      const { type, sequence, after, entries } = value
      if (type === 'entries') return eventOf(entries, { after, sequence }, false)
      if (type === 'fail' || type === 'truncated' || type === 'end') throw new Error(`expected entries, found ${data}`)
      return eventOf([], undefined, type === 'caught-up')
    }
    default:
      return field('event') === 'data'
        ? eventOf(value, undefined, false)
        : eventOf([], undefined, value.upToDate === true)
  }
}

/** Creates the event of some entries. `span` is the range that our frames declare, because merged entries are not all present. */
function eventOf(
  entries: readonly ReadEntry[],
  span: { readonly after?: number; readonly sequence: number } | undefined,
  isCaughtUp: boolean,
): ReceivedEvent {
  const [first, last] = [entries[0]?.sequence ?? 1, entries.at(-1)?.sequence ?? 0]
  let at = 0
  for (const { sequence } of entries) {
    if (sequence <= at || (span === undefined && at > 0 && sequence !== at + 1))
      throw new Error(`expected entry ${at + 1}${span ? ' or a later one' : ''}, found ${sequence}`)
    at = sequence
  }
  const writtenAt = entries.flatMap(({ chunk }) =>
    chunk.type === 'data-time' ? [Number((chunk as { data?: unknown }).data)] : [],
  )
  return {
    after: span?.after ?? first - 1,
    last: span?.sequence ?? last,
    entries: entries.length,
    digest: digestOf(entries.map(({ chunk }) => entryText(chunk)).join('')),
    writtenAt,
    isCaughtUp,
  }
}
