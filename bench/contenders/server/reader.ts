import { connect, type Socket } from 'node:net'
import type { Chunk } from '@millrace/protocol'
import { type Digest, digestOf, EMPTY, joined } from './digest.ts'
import { type Address, type Form, type Got, saidBy } from './served.ts'

/** One event: what it says, and of which entries. */
interface Event extends Got {
  /** The entry before its first, and its last; the same where it has none. */
  readonly after: number
  readonly last: number
  /** When its entries were written, where they say it. */
  readonly written: readonly number[]
  /** Whether all that was there has been said. */
  readonly isCaughtUp: boolean
}

interface Read {
  readonly sequence: number
  readonly chunk: Chunk
}

/** One connection by a raw socket. It takes HTTP startChild no further than these servers need it to, and throws, which ends the process, where an entry is missing, twice or out of order. */
export class Reader {
  readonly #form: Form
  readonly #clock: () => number
  readonly #socket: Socket
  readonly #here = Promise.withResolvers<void>()
  readonly #caughtUp = Promise.withResolvers<void>()
  #wanted: { readonly entries: number; readonly done: () => void } | undefined
  /** What of the reply was not looked at yet: its head, then what chunked transfer makes of its body. */
  #raw = ''
  #isBody = false
  #isChunked = false
  /** Bytes that the chunk at hand still has, or the whole body. */
  #due = 0
  /** What of the body was not an event yet. */
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
    // The answers that are measured are ASCII: a byte is a character.
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (text: unknown) => this.#take(text as string))
    this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\n\r\n`)
  }

  /** Resolves when it is given what comes. */
  get isHere(): Promise<void> {
    return this.#here.promise
  }

  /** Resolves when it has all that was there. */
  get isCaughtUp(): Promise<void> {
    return this.#caughtUp.promise
  }

  /** Resolves when it has so many entries more than when it last told. */
  got(entries: number): Promise<void> {
    return new Promise(done => {
      this.#wanted = { entries, done }
      this.#look()
    })
  }

  /** Tells what it got since it was last asked. */
  take(): Got & { bytes: number; times: number[] } {
    const told = { entries: this.#entries, digest: this.#digest, bytes: this.#bytes, times: this.#times }
    this.#entries = this.#bytes = 0
    this.#digest = EMPTY
    this.#times = []
    return told
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(text: string): void {
    this.#bytes += text.length
    if (!this.#isBody) {
      this.#raw += text
      const end = this.#raw.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = this.#raw.slice(0, end).toLowerCase()
      if (!head.startsWith('http/1.1 200')) throw new Error(`the server answered ${head}`)
      this.#isBody = true
      this.#isChunked = head.includes('transfer-encoding: chunked')
      this.#due = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0)
      text = this.#raw.slice(end + 4)
      this.#raw = ''
    }
    if (this.#isChunked) this.#dechunk(text)
    else this.#body(text)
    this.#look()
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
      // What ends a chunk, and then the length of the next.
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
    // An end may be cut in two.
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
    const event = known(this.#form, text)
    if (event) this.#add(event)
    else this.#here.resolve()
  }

  #add({ after, last, entries, digest, written, isCaughtUp }: Event): void {
    if (entries > 0) {
      if (this.#last !== undefined && after !== this.#last) throw new Error(`after ${this.#last} came ${after + 1}`)
      this.#last = last
      this.#entries += entries
      this.#digest = joined(this.#digest, digest)
      for (const at of written) this.#times.push(this.#clock() - at)
    }
    if (!isCaughtUp) return
    this.#here.resolve()
    this.#caughtUp.resolve()
  }

  #look(): void {
    if (this.#wanted === undefined || this.#entries < this.#wanted.entries) return
    this.#wanted.done()
    this.#wanted = undefined
  }
}

/** Many readers get the same events: each is taken startChild once. */
const recent = new Map<string, Event | undefined>()

function known(form: Form, text: string): Event | undefined {
  if (recent.has(text)) return recent.get(text)
  const event = parsed(form, text)
  if (recent.size >= 256) recent.clear()
  recent.set(text, event)
  return event
}

/** What an event says; undefined for a comment, and what else is no event. */
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
      if (type === 'fail' || type === 'truncated' || type === 'end') throw new Error(`the server said ${data}`)
      return eventOf([], undefined, type === 'caught-up')
    }
    default:
      return field('event') === 'data'
        ? eventOf(value, undefined, false)
        : eventOf([], undefined, value.upToDate === true)
  }
}

/** The event of some entries; ours says of itself how far it reaches, since what it merged is not all there. */
function eventOf(
  entries: readonly Read[],
  span: { readonly after?: number; readonly sequence: number } | undefined,
  isCaughtUp: boolean,
): Event {
  const [first, last] = [entries[0]?.sequence ?? 1, entries.at(-1)?.sequence ?? 0]
  let at = 0
  for (const { sequence } of entries) {
    if (sequence <= at || (span === undefined && at > 0 && sequence !== at + 1))
      throw new Error(`${sequence} follows ${at}`)
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
