// A response whose body survives dropped connections.

import { ProtocolError } from '@millrace/protocol'
import { RetryDelay, reconnecting } from '@millrace/protocol/retry'
import type { WireEvent } from '../../http/event-reader.ts'
import { markedEvents, RECONNECT, StreamMarks } from '../../http/resumable-stream.ts'
import type { AgUiEvent } from '../types.ts'

/** How to send a request and how to resume it. */
export interface ResumableRequest {
  /** Sends the request. Without it, the open run is followed. */
  readonly first?: () => Promise<Response>
  /** Requests the events after a position of a run, or all of them. */
  readonly reconnect: (position: StreamPosition) => Promise<Response>
  readonly signal?: AbortSignal | undefined
  readonly retries?: number | undefined
  readonly silenceMs?: number | undefined
}

interface StreamPosition {
  readonly run?: string | undefined
  readonly after?: string | undefined
}

const SILENCE_MS = 60_000

/** Sends a request. The body of the response lasts until the run ends or pauses. */
export async function resumableResponse(resumableRequest: ResumableRequest): Promise<Response> {
  const reply = await (resumableRequest.first?.() ?? resumableRequest.reconnect({}))
  // No open run: the stream is empty.
  if (reply.status === 204) return new Response('', { headers: { 'content-type': 'text/event-stream' } })
  if (!reply.ok || !reply.body) return reply
  const runHeader = reply.headers.get('x-run-id')
  const frames = framesOf(resumableRequest, reply, runHeader === null ? undefined : decodeURIComponent(runHeader))
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
  resumableRequest: ResumableRequest,
  first: Response,
  run: string | undefined,
): AsyncGenerator<string, void, void> {
  const { retries: attempts = RECONNECT.attempts, silenceMs = SILENCE_MS, signal } = resumableRequest
  const delay = new RetryDelay({ ...RECONNECT, attempts })
  const marks = new StreamMarks()
  let next: Response | undefined = first
  async function* connect() {
    const response = next ?? expectOk(await resumableRequest.reconnect({ run, after: marks.last }))
    next = undefined
    return yield* markedEvents(response.body, { marks, delay, parse: frameOf, isLast, silenceMs, signal })
  }
  const isFinal = (error: unknown) => error instanceof RefusedError || error instanceof ProtocolError
  const dropped = () => new Error('The connection was dropped and could not be resumed: read the session again.')
  try {
    for await (const frames of reconnecting(connect, delay, isFinal, dropped, signal)) yield frames.join('')
  } catch (error) {
    signal?.throwIfAborted()
    // A failing body causes an unhandled rejection in clients of AG-UI, and one that just ends looks like success (law 7).
    yield connectionLostFrame((error as Error).message)
  }
}

const connectionLostFrame = (message: string): string =>
  `data: ${JSON.stringify({ type: 'RUN_ERROR', message, code: 'connection_lost' } satisfies AgUiEvent)}\n\n`

/** An error that a retry would not fix. */
class RefusedError extends Error {}

function expectOk(reply: Response): Response {
  if (reply.ok && reply.body) return reply
  const message = `HTTP ${reply.status}: the run could not be resumed: read the session again`
  throw reply.status < 500 && reply.status !== 429 ? new RefusedError(message) : new Error(message)
}

const END_EVENT = /^\{"type":"RUN_(?:FINISHED|ERROR)"/

const frameOf = ({ data }: WireEvent): string => `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`

const isLast = ({ data }: WireEvent): boolean => END_EVENT.test(data)
