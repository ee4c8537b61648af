// Reads a reply over several connections. After a drop it resumes at the last mark, and after a pause it waits for an answer.

import { decodeSseStream, ProtocolError } from '@millrace/protocol'
import { type Backoff, RetryDelay, reconnecting, retry } from '@millrace/protocol/retry'
import { jsonEventOf, readEvents, type WireEvent } from '../../http/event-reader.ts'
import { type HttpServerOptions, request } from '../../http/request.ts'
import { RequestError } from '../../http/request-error.ts'
import { RECONNECT, StreamMarks } from '../../http/resumable-stream.ts'
import { HIDDEN_EXTENSION, type MuiEvent } from '../events/mui-event.ts'

export interface MuiServer extends HttpServerOptions {
  /** Base URL of the Millrace routes. */
  readonly root: string
  readonly backoff?: Partial<Backoff> | undefined
}

/** An event and the sequence of its entry. */
export interface PositionedEvent {
  readonly event: MuiEvent
  readonly sequence: number
}

/** Repeats a request while its error is retryable. */
export const requestWithRetry = (
  server: MuiServer,
  signal: AbortSignal,
  send: () => Promise<Response>,
): Promise<Response> =>
  retry(send, delayOf(server), error => (error instanceof RequestError && error.retryable ? 0 : false), signal)

const delayOf = ({ backoff }: MuiServer): RetryDelay => new RetryDelay({ ...RECONNECT, ...backoff })

/** The URL of a route of a session. */
export const sessionUrl = ({ root }: MuiServer, sessionId: string, rest = ''): string =>
  `${root}/sessions/${encodeURIComponent(sessionId)}${rest}`

export interface ReplyStreamOptions {
  readonly server: MuiServer
  readonly sessionId: string
  readonly runId: string
  readonly signal: AbortSignal
  /** The status of the run after the emitted events. */
  readonly status: () => string | undefined
  /** The first connection, if it is open already. */
  readonly first?: Response | undefined
}

/** Reads a reply. Emits the events of an entry together, and each one once. */
export class ReplyStream {
  readonly #options: ReplyStreamOptions
  #first: Response | undefined
  readonly #delay: RetryDelay
  /** The marks of complete entries. */
  readonly #marks = new StreamMarks()
  /** The last known position: a mark, or a cursor of the session. */
  #position: string | undefined
  /** Number of events, as their sequence. */
  #count = 0

  constructor(options: ReplyStreamOptions) {
    this.#options = options
    this.#first = options.first
    this.#delay = delayOf(options.server)
  }

  /** Yields events until the run has ended. @throws `RequestError` when the stream is lost or refused. */
  events(): AsyncGenerator<readonly PositionedEvent[], void, undefined> {
    const isFinal = (error: unknown) =>
      (error instanceof RequestError && !error.retryable) || error instanceof ProtocolError
    return reconnecting(() => this.#connect(), this.#delay, isFinal, connectionLost, this.#options.signal)
  }

  async *#connect(): AsyncGenerator<readonly PositionedEvent[], boolean, undefined> {
    const { status, signal } = this.#options
    const isOver = () => status() !== undefined && status() !== 'paused'
    try {
      const response = this.#first ?? (await this.#reopen())
      this.#first = undefined
      yield* this.#read(response)
      if (status() === 'paused') await this.#waitForEntry()
    } catch (error) {
      signal.throwIfAborted()
      if (!isOver()) {
        // An answer can take long.
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

  async *#read({ body }: Response): AsyncGenerator<readonly PositionedEvent[], void, undefined> {
    if (body === null) return
    let held: PositionedEvent[] = []
    for await (const wireEvents of readEvents(body)) {
      const complete: PositionedEvent[] = []
      for (const wire of wireEvents) {
        const { eventId, event } = parseEvent(wire)
        if (event.type === HIDDEN_EXTENSION && event.data === undefined) {
          // A mark completes the held events. They are new if the mark is.
          if (this.#passMark(eventId)) complete.push(...held)
          held = []
        } else if (event.millrace === null && held.length === 0) {
          // This event is not in the log, and may be repeated.
          complete.push({ event, sequence: 0 })
        } else held.push({ event, sequence: ++this.#count })
      }
      if (complete.length > 0) yield complete
    }
  }

  #passMark(mark: string): boolean {
    if (!this.#marks.pass(mark)) return false
    this.#position = mark
    this.#delay.progressed()
    return true
  }

  /** Waits for the next entry of the session: an answer or a stop. */
  async #waitForEntry(): Promise<void> {
    const { server, sessionId, signal } = this.#options
    const url = sessionUrl(server, sessionId, `/stream?after=${encodeURIComponent(this.#position ?? '0')}`)
    const response = await request(server, { method: 'GET', url, headers: { accept: 'text/event-stream' }, signal })
    if (response.body === null) return
    for await (const frame of decodeSseStream(response.body, { signal })) {
      if (frame.type === 'truncated') return
      if (frame.type !== 'entries' || frame.entries.length === 0) continue
      if (frame.cursor !== this.#position) this.#delay.progressed()
      this.#position = frame.cursor
      return
    }
    throw connectionLost()
  }
}

const connectionLost = (): RequestError =>
  new RequestError({
    code: 'dropped',
    message: 'The connection was lost and could not be reopened: read the session again.',
    retryable: true,
  })

/** Parses an event. */
function parseEvent(wire: WireEvent): { readonly eventId: string; readonly event: MuiEvent } {
  const { eventId, chunk } = Object(jsonEventOf(wire)) as { readonly eventId?: unknown; readonly chunk?: MuiEvent }
  if (typeof eventId === 'string' && typeof chunk?.type === 'string') return { eventId, event: chunk }
  throw new ProtocolError('invalid-frame', 'event: expected an eventId and a chunk')
}
