// One reply over as many connections as it takes: through drops, by the place up to which everything came, and through pauses, until somebody has answered.

import { decodeSseStream, ProtocolError } from '@millrace/protocol'
import { type Backoff, RetryDelay, reconnecting, retry } from '@millrace/protocol/retry'
import { jsonEventOf, readEvents, type WireEvent } from '../http/event-reader.ts'
import { type HttpServerOptions, request } from '../http/request.ts'
import { RequestError } from '../http/request-error.ts'
import { RECONNECT, StreamMarks } from '../http/resumable-stream.ts'
import type { MuiEvent } from './chunk.ts'
import { PASSED } from './chunk.ts'

export interface MuiServer extends HttpServerOptions {
  /** Where Millrace's own routes are. */
  readonly root: string
  readonly backoff?: Partial<Backoff> | undefined
}

/** An event and the sequence of the entry that it is of. */
export interface PlacedEvent {
  readonly event: MuiEvent
  readonly sequence: number
}

/** Repeats a request while its error is retryable. */
export const requestWithRetry = (
  server: MuiServer,
  signal: AbortSignal,
  ask: () => Promise<Response>,
): Promise<Response> =>
  retry(ask, delayOf(server), error => (error instanceof RequestError && error.retryable ? 0 : false), signal)

const delayOf = ({ backoff }: MuiServer): RetryDelay => new RetryDelay({ ...RECONNECT, ...backoff })

/** Where the routes of a session are. */
export const sessionUrl = ({ root }: MuiServer, sessionId: string, rest = ''): string =>
  `${root}/sessions/${encodeURIComponent(sessionId)}${rest}`

export interface ReplyStreamOptions {
  readonly server: MuiServer
  readonly sessionId: string
  readonly runId: string
  readonly signal: AbortSignal
  /** How the run stands, by what was given so far. */
  readonly status: () => string | undefined
  /** The first connection, where there is one. */
  readonly first?: Response | undefined
}

/** Reads a reply, all that is said of an entry at once, and each once. */
export class ReplyStream {
  readonly #options: ReplyStreamOptions
  #first: Response | undefined
  readonly #delay: RetryDelay
  /** Up to where everything came. */
  readonly #marks = new StreamMarks()
  /** Up to where it is known that nothing but this came: a place, or a cursor of the session. */
  #seen: string | undefined
  /** How many events there were: what is given is given once, and in order. */
  #count = 0

  constructor(options: ReplyStreamOptions) {
    this.#options = options
    this.#first = options.first
    this.#delay = delayOf(options.server)
  }

  /** Yields events until the run has ended. @throws `RequestError` when the stream is lost or refused. */
  pieces(): AsyncGenerator<readonly PlacedEvent[], void, undefined> {
    const isFinal = (error: unknown) =>
      (error instanceof RequestError && !error.retryable) || error instanceof ProtocolError
    return reconnecting(() => this.#connect(), this.#delay, isFinal, dropped, this.#options.signal)
  }

  async *#connect(): AsyncGenerator<readonly PlacedEvent[], boolean, undefined> {
    const { status, signal } = this.#options
    const isOver = () => status() !== undefined && status() !== 'paused'
    try {
      const response = this.#first ?? (await this.#reopen())
      this.#first = undefined
      yield* this.#read(response)
      if (status() === 'paused') await this.#answered()
    } catch (error) {
      signal.throwIfAborted()
      if (!isOver()) {
        // A person may take long to answer.
        if (status() === 'paused' && this.#delay.isStable) this.#delay.progressed()
        throw error
      }
    }
    return isOver()
  }

  #reopen(): Promise<Response> {
    const { server, sessionId, runId, signal } = this.#options
    const { last: after } = this.#marks
    const query = new URLSearchParams({ run: runId, ...(after !== undefined && { after }) })
    const url = `${server.api}/${encodeURIComponent(sessionId)}/stream?${query}`
    return request(server, { method: 'GET', url, signal })
  }

  async *#read({ body }: Response): AsyncGenerator<readonly PlacedEvent[], void, undefined> {
    if (body === null) return
    let held: PlacedEvent[] = []
    for await (const events of readEvents(body)) {
      const piece: PlacedEvent[] = []
      for (const wire of events) {
        const { eventId, event } = eventIn(wire)
        if (event.type === PASSED && event.data === undefined) {
          // A mark: what was held is whole, and new unless this was passed before.
          if (this.#passes(eventId)) piece.push(...held)
          held = []
        } else if (event.millrace === null && held.length === 0) {
          // It stands for nothing in the log, and may come again.
          piece.push({ event, sequence: 0 })
        } else held.push({ event, sequence: ++this.#count })
      }
      if (piece.length > 0) yield piece
    }
  }

  #passes(place: string): boolean {
    if (!this.#marks.pass(place)) return false
    this.#seen = place
    this.#delay.progressed()
    return true
  }

  /** Waits until something happens in the session: somebody answered, or stopped it. */
  async #answered(): Promise<void> {
    const { server, sessionId, signal } = this.#options
    const url = sessionUrl(server, sessionId, `/stream?after=${encodeURIComponent(this.#seen ?? '0')}`)
    const response = await request(server, { method: 'GET', url, headers: { accept: 'text/event-stream' }, signal })
    if (response.body === null) return
    for await (const frame of decodeSseStream(response.body, { signal })) {
      if (frame.type === 'truncated') return
      if (frame.type !== 'entries' || frame.entries.length === 0) continue
      if (frame.cursor !== this.#seen) this.#delay.progressed()
      this.#seen = frame.cursor
      return
    }
    throw dropped()
  }
}

const dropped = (): RequestError =>
  new RequestError({
    code: 'dropped',
    message: 'The connection was lost, and could not be made again.',
    retryable: true,
  })

/** What an event on the wire says. */
function eventIn(wire: WireEvent): { readonly eventId: string; readonly event: MuiEvent } {
  const { eventId, chunk } = Object(jsonEventOf(wire)) as { readonly eventId?: unknown; readonly chunk?: MuiEvent }
  if (typeof eventId === 'string' && typeof chunk?.type === 'string') return { eventId, event: chunk }
  throw new ProtocolError('invalid-frame', 'event: expected an eventId and a chunk')
}
