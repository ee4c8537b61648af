import { connect, type Socket } from 'node:net'
import type { Chunk } from '@millrace/protocol'
import { type Digest, digestOf, EMPTY, joined } from './digest.ts'
import { type Address, type Form, type Got, saidBy } from './served.ts'

/** One event: its text, and the entries that it covers. */
interface Event extends Got {
  /** Sequence before its first entry, and of its last entry. Equal if it has none. */
  readonly after: number
  readonly last: number
  /** Write times of its entries, if they contain them. */
  readonly written: readonly number[]
  /** Whether the reader is caught up. */
  readonly isCaughtUp: boolean
}

interface Read {
  readonly sequence: number
  readonly chunk: Chunk
}

/** One connection over a raw socket, with the minimal HTTP parsing that these servers need. @throws, which ends the process, on a missing, repeated or unordered entry. */
export class Reader {
  readonly #form: Form
  readonly #clock: () => number
  readonly #socket: Socket
  readonly #streaming = Promise.withResolvers<void>()
  readonly #caughtUp = Promise.withResolvers<void>()
  #wanted: { readonly entries: number; readonly done: () => void } | undefined
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
  #digest: Digest = EMPTY
  #bytes = 0
  #times: number[] = []

  constructor({ port, path, form }: Address, clock: () => number) {
    this.#form = form
    this.#clock = clock
    this.#socket = connect({ port, host: '127.0.0.1' })
    this.#socket.setNoDelay(true)
    // The measured texts are ASCII: a byte is a character.
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (text: unknown) => this.#receive(text as string))
    this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\n\r\n`)
  }

  /** Resolves when the connection streams. */
  get isHere(): Promise<void> {
    return this.#streaming.promise
  }

  /** Resolves when it is caught up. */
  get isCaughtUp(): Promise<void> {
    return this.#caughtUp.promise
  }

  /** Resolves when it has received `entries` entries since the last report. */
  received(entries: number): Promise<void> {
    return new Promise(done => {
      this.#wanted = { entries, done }
      this.#resolveWanted()
    })
  }

  /** Returns what it received since the last report. */
  take(): Got & { bytes: number; times: number[] } {
    const report = { entries: this.#entries, digest: this.#digest, bytes: this.#bytes, times: this.#times }
    this.#entries = this.#bytes = 0
    this.#digest = EMPTY
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
    this.#resolveWanted()
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
    const seen = Math.max(0, this.#text.length - 1)
    this.#text += text
    if (this.#form === 'array') {
      if (!this.#isChunked && this.#text.length === this.#due) this.#finish()
      return
    }
    let from = 0
    for (let end = this.#text.indexOf('\n\n', seen); end >= 0; end = this.#text.indexOf('\n\n', from)) {
      this.#event(this.#text.slice(from, end))
      from = end + 2
    }
    if (from > 0) this.#text = this.#text.slice(from)
  }

  #finish(): void {
    if (this.#form === 'array') this.#add(eventOf(JSON.parse(this.#text), undefined, true))
    this.#text = ''
  }

  #event(text: string): void {
    const event = parseEvent(this.#form, text)
    if (event) this.#add(event)
    else this.#streaming.resolve()
  }

  #add({ after, last, entries, digest, written, isCaughtUp }: Event): void {
    if (entries > 0) {
      if (this.#last !== undefined && after !== this.#last)
        throw new Error(`expected entry ${this.#last + 1}, found ${after + 1}`)
      this.#last = last
      this.#entries += entries
      this.#digest = joined(this.#digest, digest)
      for (const at of written) this.#times.push(this.#clock() - at)
    }
    if (!isCaughtUp) return
    this.#streaming.resolve()
    this.#caughtUp.resolve()
  }

  #resolveWanted(): void {
    if (this.#wanted === undefined || this.#entries < this.#wanted.entries) return
    this.#wanted.done()
    this.#wanted = undefined
  }
}

/** Many readers get the same events, so each is parsed once. */
const recent = new Map<string, Event | undefined>()

function parseEvent(form: Form, text: string): Event | undefined {
  if (recent.has(text)) return recent.get(text)
  const event = parsed(form, text)
  if (recent.size >= 256) recent.clear()
  recent.set(text, event)
  return event
}

/** Parses an event. Returns undefined for a comment. */
function parsed(form: Form, text: string): Event | undefined {
  const lines = text.split('\n')
  const field = (name: string) =>
    lines
      .find(line => line.startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trimStart()
  const data = field('data')
  if (data === undefined) return form === 'events' ? undefined : eventOf([], undefined, false)
  const value = JSON.parse(data)
  switch (form) {
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

/** Creates the event of some entries. Ours states its last sequence, because merged entries are not all present. */
function eventOf(
  entries: readonly Read[],
  span: { readonly after?: number; readonly sequence: number } | undefined,
  isCaughtUp: boolean,
): Event {
  const [first, last] = [entries[0]?.sequence ?? 1, entries.at(-1)?.sequence ?? 0]
  let at = 0
  for (const { sequence } of entries) {
    if (sequence <= at || (span === undefined && at > 0 && sequence !== at + 1))
      throw new Error(`expected entry ${at + 1}${span ? ' or a later one' : ''}, found ${sequence}`)
    at = sequence
  }
  const written = entries.flatMap(({ chunk }) =>
    chunk.type === 'data-time' ? [Number((chunk as { data?: unknown }).data)] : [],
  )
  return {
    after: span?.after ?? first - 1,
    last: span?.sequence ?? last,
    entries: entries.length,
    digest: digestOf(entries.map(({ chunk }) => saidBy(chunk)).join('')),
    written,
    isCaughtUp,
  }
}
