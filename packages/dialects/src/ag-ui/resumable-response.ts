// A response whose body goes on where its connection breaks.

import { ProtocolError } from '@millrace/protocol'
import { Patience, Places } from '../foreign-server/patience.ts'
import { EventReader } from '../http/event-reader.ts'
import type { AgUiEvent } from './event.ts'

/** How to ask, and to ask again. */
export interface Ask {
  /** The request itself; what is under way is asked for, if there is none. */
  readonly first?: () => Promise<Response>
  /** Asks for what comes after a place in a run; for all of it, without one. */
  readonly again: (place: Place) => Promise<Response>
  readonly signal?: AbortSignal | undefined
  readonly retries?: number | undefined
  readonly silenceMs?: number | undefined
}

interface Place {
  readonly run?: string | undefined
  readonly after?: string | undefined
}

const SILENCE_MS = 60_000

/** The response to a request, which lasts until the run has ended or waits. */
export async function lasting(ask: Ask): Promise<Response> {
  const reply = await (ask.first?.() ?? ask.again({}))
  // There is nothing to follow: an empty stream says so.
  if (reply.status === 204) return new Response('', { headers: { 'content-type': 'text/event-stream' } })
  if (!reply.ok || !reply.body) return reply
  const named = reply.headers.get('x-run-id')
  const frames = told(ask, reply, named === null ? undefined : decodeURIComponent(named))
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

async function* told(ask: Ask, first: Response, run: string | undefined): AsyncGenerator<string, void, void> {
  const { retries: attempts, signal } = ask
  const patience = new Patience({ attempts })
  const places = new Places()
  let reply: Response | undefined = first
  for (;;) {
    try {
      reply ??= mustBeGood(await ask.again({ run, after: places.last }))
      for await (const { text, after, isOver } of pieces(reply, ask)) {
        if (after !== undefined) {
          // What leads to a place that was passed was said before.
          if (!places.pass(after)) continue
          patience.progressed()
        }
        yield text
        if (isOver) return
      }
    } catch (error) {
      if (signal?.aborted) throw error
      if (error instanceof Refused || error instanceof ProtocolError) return yield lost(error.message)
    }
    reply = undefined
    if (await patience.again(signal)) continue
    signal?.throwIfAborted()
    // A body that broke would leave a rejection behind in AG-UI's clients that nobody catches, and one that just ends would look like success (law 7).
    return yield lost('The connection broke, and could not be taken up again.')
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

/** Some events that belong together: up to a mark, from which one can go on, or to the end of the run. */
interface Piece {
  readonly text: string
  readonly after?: string
  readonly isOver?: true
}

const END = /^\{"type":"RUN_(?:FINISHED|ERROR)"/

async function* pieces({ body }: Response, { silenceMs = SILENCE_MS, signal }: Ask): AsyncGenerator<Piece, void, void> {
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  const events = new EventReader('sse', undefined, true)
  let text = ''
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), silenceMs, signal)
      if (done) return
      for (const { id: after, data } of events.push(value)) {
        const isMark = data === '' && after !== undefined
        const isOver = END.test(data)
        if (!isMark) text += `data: ${data.replaceAll('\n', '\ndata: ')}\n\n`
        if (!isMark && !isOver) continue
        yield { text, ...(isMark && { after }), ...(isOver && { isOver }) }
        text = ''
      }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** What a promise gives, unless it takes too long. */
async function within<T>(promise: Promise<T>, ms: number, signal: AbortSignal | undefined): Promise<T> {
  let letGo = () => {}
  const late = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new Error('The connection has gone silent.')), ms)
    const leave = () => reject(signal?.reason)
    signal?.addEventListener('abort', leave)
    letGo = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
    }
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    letGo()
  }
}
