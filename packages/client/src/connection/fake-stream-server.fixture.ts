// A server whose frames are written by a test.

import {
  type Entry,
  encodeCursor,
  encodeSse,
  Fold,
  type Frame,
  FrameWriter,
  type Snapshot,
  SSE_HEARTBEAT,
} from '@millrace/protocol'

/** An entry of a log: a text delta, or another chunk. */
const entry = (sequence: number, chunk?: Entry['chunk']): Entry => ({
  sequence,
  timestamp: 1_000 + sequence,
  origin: { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 },
  chunk: chunk ?? { type: 'text-delta', id: 't', delta: `${sequence} ` },
})

export const cursorOf = (sequence: number, incarnation = 'a'): string =>
  encodeCursor({ sequence, incarnation, epoch: '1-x' })

/** One request to `/stream` and its response. */
export class Stream {
  readonly url: URL
  readonly signal: AbortSignal
  readonly #writer = new FrameWriter()
  readonly #encoder = new TextEncoder()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined

  constructor(url: URL, signal: AbortSignal) {
    this.url = url
    this.signal = signal
  }

  /** Requested sessions with their cursors. */
  get positions(): readonly string[] {
    const { searchParams } = this.url
    const after = searchParams.getAll('after')
    return searchParams.getAll('session').map((sessionId, n) => `${sessionId} ${after[n]}`)
  }

  get reply(): Response {
    const body = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
          this.signal.addEventListener('abort', () => controller.error(this.signal.reason))
        },
      },
      { highWaterMark: 0 },
    )
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

  /** Whether the client has read everything sent so far. */
  get isDrained(): boolean {
    return (this.#controller?.desiredSize ?? 0) >= 0
  }

  send(...frames: readonly Frame[]): void {
    this.raw(frames.map(frame => encodeSse(frame, this.#writer)).join(''))
  }

  raw(text: string): void {
    this.#controller?.enqueue(this.#encoder.encode(text))
  }

  heartbeat(): void {
    this.raw(SSE_HEARTBEAT)
  }

  open(sessionId: string, after = 0, heartbeatMs = 15_000): void {
    const cursor = cursorOf(after)
    this.send({ type: 'open', protocol: 1, sessionId, incarnation: 'a', head: 99, heartbeatMs, cursor })
  }

  entries(sessionId: string, after: number, sequence: number): void {
    const entries = Array.from({ length: sequence - after }, (_, n) => entry(after + n + 1))
    this.send({ type: 'entries', sessionId, after, sequence, entries, cursor: cursorOf(sequence) })
  }

  caughtUp(sessionId: string, sequence: number): void {
    this.send({ type: 'caught-up', sessionId, sequence, cursor: cursorOf(sequence) })
  }

  close(): void {
    this.#controller?.close()
  }

  fail(): void {
    this.#controller?.error(new TypeError('connection lost'))
  }
}

interface RecordedRequest {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: unknown
}

/** A fake `fetch`. Tests write its streams. */
export class FakeStreamServer {
  readonly streams: Stream[] = []
  readonly requests: RecordedRequest[] = []
  /** Responses to the next requests, in place of the default ones. */
  readonly replies: (Response | Error)[] = []
  /** Responds to requests other than streams. */
  answer: (request: RecordedRequest) => Response | Promise<Response> = ({ path }) =>
    Response.json(snapshotAt(path.length))
  #waiting: { readonly count: number; readonly resolve: () => void }[] = []

  readonly fetch: typeof fetch = async (input, init) => {
    const url = new URL(String(input), 'http://here')
    const signal = init?.signal ?? new AbortController().signal
    const text = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined
    const request = {
      method: init?.method ?? 'GET',
      path: url.pathname + url.search,
      headers: new Headers(init?.headers),
      body: text,
    }
    this.requests.push(request)
    signal.throwIfAborted()
    const reply = this.replies.shift()
    if (reply instanceof Error) throw reply
    if (reply) return reply
    if (!url.pathname.endsWith('/stream')) {
      const aborted = new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      )
      aborted.catch(() => {})
      return Promise.race([this.answer(request), aborted])
    }
    const stream = new Stream(url, signal)
    this.streams.push(stream)
    this.#waiting = this.#waiting.filter(({ count, resolve }) => this.streams.length < count || resolve())
    return stream.reply
  }

  /** Resolves with the request of this number to `/stream`, from 1. */
  async stream(count: number): Promise<Stream> {
    if (this.streams.length < count) {
      await new Promise<void>(resolve => this.#waiting.push({ count, resolve }))
    }
    return this.streams[count - 1] as Stream
  }
}

/** The snapshot of an empty session at a sequence. */
export const snapshotAt = (sequence: number, incarnation = 'a'): Snapshot => ({
  sequence,
  cursor: cursorOf(sequence, incarnation),
  view: { ...new Fold().view(), head: sequence },
})

/** An error response as a Millrace server sends it. */
export const refusal = (status: number, code: string, retryable = false, headers: Record<string, string> = {}) =>
  Response.json({ error: { code, message: `${code}.`, retryable } }, { status, headers })
