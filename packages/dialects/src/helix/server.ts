// A server of Helix Agents, as our client asks it: it keeps the session itself, so that only what is new is said to it.

import { type Message, ProtocolError } from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'
import { ForeignConnection } from '../foreign-server/foreign-connection.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from '../foreign-server/foreign-server.ts'
import { readEvents, type WireEvent } from '../http/event-reader.ts'
import { type HttpServerOptions, request } from '../http/request.ts'
import { HelixDecoder } from './decoder.ts'
import type { StreamEvent } from './event.ts'

/** Where the routes of the server are: `start`, `sse`, `submit-tool-result` and so on lie under `api`. */
export type HelixOptions = HttpServerOptions

/** A reply that can be gone on with: by its place, and by all that was understood of it. */
class HelixReply implements ForeignReply {
  readonly decoder: HelixDecoder
  /** The place of what was said last, here or before. */
  place: string | undefined
  readonly #response: Response
  /** Where it is to go on, until it has: what lies before was said. */
  #after: number | undefined

  constructor(response: Response, decoder: HelixDecoder, place: string | undefined, isMore = false) {
    this.#response = response
    this.decoder = decoder
    this.place = place
    if (isMore) this.#after = Number(place)
  }

  get status(): EndStatus | undefined {
    return this.decoder.status
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly DecodedChunk[], void, undefined> {
    const { body } = this.#response
    if (!body) return
    let held: StreamEvent[] = []
    for await (const events of readEvents(body)) {
      for (const wire of events) {
        const event = eventIn(wire)
        const sequence = event.type === 'chunk' ? event.sequence : undefined
        held.push(event)
        // Of what goes by several chunks the last has the place: only that tells whether they were said before.
        if (this.#after !== undefined && event.type === 'chunk') {
          if (sequence === undefined) continue
          if (sequence <= this.#after) {
            held = []
            continue
          }
          this.#after = undefined
        }
        const told = held.flatMap(one => this.decoder.decode(one))
        held = []
        this.place = wire.id ?? sequence?.toString() ?? this.place
        if (told.length > 0) yield told
      }
      // The stream of a session stays open while it waits; the reply is over.
      if (this.decoder.isWaiting) return
    }
  }
}

function eventIn({ data }: WireEvent): StreamEvent {
  try {
    return JSON.parse(data) as StreamEvent
  } catch {
    throw new ProtocolError('invalid-json', `event: expected JSON, found ${JSON.stringify(data.slice(0, 40))}`)
  }
}

class HelixServer implements ForeignServer {
  readonly name = 'helix'
  readonly canRewind = false
  readonly #options: HelixOptions
  /** The places of the sessions, as far as they were read. */
  readonly #places = new Map<string, HelixReply>()

  constructor(options: HelixOptions) {
    this.#options = options
  }

  async ask(asking: ForeignRequest): Promise<ForeignReply> {
    const { sessionId, kind, answers, messages, data, signal } = asking
    const known = this.#places.get(sessionId)
    if (kind === 'continue' && known?.place !== undefined) {
      for (const answer of answers) await this.#post('submit-tool-result', submissionOf(sessionId, answer), signal)
      return this.#follow(sessionId, known, signal)
    }
    const last = messages.at(-1)
    const said = { sessionId, message: textOf(last), messageId: last?.id, ...(data !== undefined && { data }) }
    const [path, body] = kind === 'regenerate' ? (['retry', { sessionId }] as const) : (['start', said] as const)
    const response = await this.#post(path, body, signal)
    return this.#replied(sessionId, new HelixReply(response, new HelixDecoder(), known?.place))
  }

  async resume(asking: ForeignRequest, dropped?: ForeignReply): Promise<ForeignReply | undefined> {
    // Without a place nothing tells what was heard: to ask again might be to run again.
    if (!(dropped instanceof HelixReply) || dropped.place === undefined) return undefined
    return this.#follow(asking.sessionId, dropped, asking.signal)
  }

  async stop({ sessionId, signal }: Pick<ForeignRequest, 'sessionId' | 'signal'>): Promise<void> {
    await (await this.#post('interrupt', { sessionId }, signal)).body?.cancel()
  }

  /** The stream of a session, from where a reply of it was left. */
  async #follow(sessionId: string, before: HelixReply, signal: AbortSignal): Promise<ForeignReply> {
    const url = `${this.#url('sse')}?sessionId=${encodeURIComponent(sessionId)}`
    const headers = { accept: 'text/event-stream', 'X-Resume-From-Sequence': before.place as string }
    const response = await request(this.#options, { method: 'GET', url, headers, signal })
    return this.#replied(sessionId, new HelixReply(response, before.decoder, before.place, true))
  }

  #replied(sessionId: string, reply: HelixReply): HelixReply {
    this.#places.set(sessionId, reply)
    return reply
  }

  #post(path: string, body: object, signal: AbortSignal): Promise<Response> {
    const accept = path === 'start' || path === 'retry' ? 'text/event-stream' : 'application/json'
    return request(this.#options, { url: this.#url(path), body, headers: { accept }, signal })
  }

  #url(path: string): string {
    return `${this.#options.api.replace(/\/+$/, '')}/${path}`
  }
}

const textOf = (message: Message | undefined): string =>
  message?.parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('') ?? ''

/** How an answer is submitted. */
function submissionOf(sessionId: string, answer: ClientAnswer): object {
  switch (answer.kind) {
    case 'approval': {
      const { id: approvalId, approved, reason } = answer
      return { sessionId, kind: 'approval-response', approvalId, approved, ...(reason !== undefined && { reason }) }
    }
    case 'tool-result': {
      const result = 'error' in answer ? { error: answer.error } : { result: answer.output }
      return { sessionId, kind: 'client-tool-result', toolCallId: answer.id, ...result }
    }
    default:
      return { sessionId, kind: 'interrupt-response', interruptId: answer.id, value: answer.response }
  }
}

/** A connection to a server of Helix Agents. */
export const helix = (options: HelixOptions): ForeignConnection => new ForeignConnection(new HelixServer(options))
