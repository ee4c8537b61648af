// A response whose body goes on where its connection breaks.

import { ProtocolError } from '@millrace/protocol'
import { RetryDelay, reconnecting } from '@millrace/protocol/retry'
import type { WireEvent } from '../http/event-reader.ts'
import { markedEvents, RECONNECT, StreamMarks } from '../http/resumable-stream.ts'
import type { AgUiEvent } from './event.ts'

/** How to ask, and to ask again. */
export interface ResumableRequest {
  /** The request itself; what is under way is asked for, if there is none. */
  readonly first?: () => Promise<Response>
  /** Asks for what comes after a place in a run; for all of it, without one. */
  readonly again: (place: StreamPosition) => Promise<Response>
  readonly signal?: AbortSignal | undefined
  readonly retries?: number | undefined
  readonly silenceMs?: number | undefined
}

interface StreamPosition {
  readonly run?: string | undefined
  readonly after?: string | undefined
}

const SILENCE_MS = 60_000

/** The response to a request, which lasts until the run has ended or waits. */
export async function resumableResponse(ask: ResumableRequest): Promise<Response> {
  const reply = await (ask.first?.() ?? ask.again({}))
  // There is nothing to follow: an empty stream says so.
  if (reply.status === 204) return new Response('', { headers: { 'content-type': 'text/event-stream' } })
  if (!reply.ok || !reply.body) return reply
  const named = reply.headers.get('x-run-id')
  const frames = framesOf(ask, reply, named === null ? undefined : decodeURIComponent(named))
  const utf8 = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await frames.next()
      if (done) controller.close()
      else controller.enqueue(utf8.encode(value))
    },
    async cancel() {
      await frames.return()
    },
  })
  return new Response(body, { headers: { 'content-type': reply.headers.get('content-type') ?? 'text/event-stream' } })
}

async function* framesOf(
  ask: ResumableRequest,
  first: Response,
  run: string | undefined,
): AsyncGenerator<string, void, void> {
  const { retries: attempts = RECONNECT.attempts, silenceMs = SILENCE_MS, signal } = ask
  const delay = new RetryDelay({ ...RECONNECT, attempts })
  const marks = new StreamMarks()
  let next: Response | undefined = first
  async function* connect() {
    const response = next ?? mustBeGood(await ask.again({ run, after: marks.last }))
    next = undefined
    return yield* markedEvents(response.body, { marks, delay, parse: frameOf, isLast, silenceMs, signal })
  }
  const isFinal = (error: unknown) => error instanceof Refused || error instanceof ProtocolError
  const dropped = () => new Error('The connection broke, and could not be taken up again.')
  try {
    for await (const frames of reconnecting(connect, delay, isFinal, dropped, signal)) yield frames.join('')
  } catch (error) {
    signal?.throwIfAborted()
    // A body that fails leaves an unhandled rejection in AG-UI's clients, and one that just ends looks like success (law 7).
    yield lost((error as Error).message)
  }
}

const lost = (message: string): string =>
  `data: ${JSON.stringify({ type: 'RUN_ERROR', message, code: 'connection_lost' } satisfies AgUiEvent)}\n\n`

/** Nothing that another try would change. */
class Refused extends Error {}

function mustBeGood(reply: Response): Response {
  if (reply.ok && reply.body) return reply
  const message = `HTTP ${reply.status}: the run could not be taken up again`
  throw reply.status < 500 && reply.status !== 429 ? new Refused(message) : new Error(message)
}

const END = /^\{"type":"RUN_(?:FINISHED|ERROR)"/

const frameOf = ({ data }: WireEvent): string => `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`

const isLast = ({ data }: WireEvent): boolean => END.test(data)
