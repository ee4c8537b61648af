// Client for a server of Helix Agents. The server keeps the session, so requests have only new content.

import { type Message, ProtocolError } from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'
import { ForeignConnection } from '../foreign-server/foreign-connection.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from '../foreign-server/foreign-server.ts'
import { readEvents, type WireEvent } from '../http/event-reader.ts'
import { type HttpServerOptions, request } from '../http/request.ts'
import { HelixDecoder } from './decoder.ts'
import type { StreamEvent } from './types.ts'

/** URL of the server. `start`, `sse`, `submit-tool-result` and so on are below `api`. */
export type HelixOptions = HttpServerOptions

/** Position from which a reply can be resumed: an event id, and the sequence of its event. */
interface HelixPosition {
  readonly id: string
  readonly sequence: number
}

/** A resumable reply, with its position and its decoder. */
class HelixReply implements ForeignReply {
  readonly decoder: HelixDecoder
  /** The last position, of this or an earlier reply. */
  position: HelixPosition | undefined
  readonly #response: Response
  /** The sequence to resume after, until it is reached. Events before it are repeats. */
  #resumeAfter: number | undefined

  constructor(response: Response, decoder: HelixDecoder, position: HelixPosition | undefined, isMore = false) {
    this.#response = response
    this.decoder = decoder
    this.position = position
    if (isMore) this.#resumeAfter = position?.sequence
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
        // Only the last of several chunks of an entry has a position, which decides whether they are repeats.
        if (this.#resumeAfter !== undefined && event.type === 'chunk') {
          if (sequence === undefined) continue
          if (sequence <= this.#resumeAfter) {
            held = []
            continue
          }
          this.#resumeAfter = undefined
        }
        const decodedChunks = held.flatMap(one => this.decoder.decode(one))
        held = []
        if (sequence !== undefined) this.position = { id: idOf(wire, sequence), sequence }
        if (decodedChunks.length > 0) yield decodedChunks
      }
      // The stream of a session stays open during a pause and after an error, but the reply is complete.
      if (this.decoder.isWaiting || this.status === 'failed') return
    }
  }
}

/** The id to resume after an event. Helix sends its sequence, a Millrace server a cursor, which begins with it. Older ids stay in effect, and do not count. */
const idOf = ({ id }: WireEvent, sequence: number): string =>
  id?.split('.', 1)[0] === `${sequence}` ? id : `${sequence}`

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
  /** The last read position of each session. */
  readonly #lastReplies = new Map<string, HelixReply>()

  constructor(options: HelixOptions) {
    this.#options = options
  }

  async ask(foreignRequest: ForeignRequest): Promise<ForeignReply> {
    const { sessionId, kind, answers, messages, data, signal } = foreignRequest
    const last = this.#lastReplies.get(sessionId)
    if (kind === 'continue' && last?.position !== undefined) {
      for (const answer of answers) await this.#post('submit-tool-result', submissionOf(sessionId, answer), signal)
      return this.#follow(sessionId, last, signal)
    }
    const message = messages.at(-1)
    const payload = { sessionId, message: textOf(message), messageId: message?.id, ...(data !== undefined && { data }) }
    const [path, body] = kind === 'regenerate' ? (['retry', { sessionId }] as const) : (['start', payload] as const)
    const response = await this.#post(path, body, signal)
    return this.#rememberReply(sessionId, new HelixReply(response, new HelixDecoder(), last?.position))
  }

  async resume(foreignRequest: ForeignRequest, dropped?: ForeignReply): Promise<ForeignReply | undefined> {
    // Without a position a repeated request could start a second run.
    if (!(dropped instanceof HelixReply) || dropped.position === undefined) return undefined
    return this.#follow(foreignRequest.sessionId, dropped, foreignRequest.signal)
  }

  async stop({ sessionId, signal }: Pick<ForeignRequest, 'sessionId' | 'signal'>): Promise<void> {
    await (await this.#post('interrupt', { sessionId }, signal)).body?.cancel()
  }

  /** Reads the stream of a session from the position of an earlier reply. */
  async #follow(sessionId: string, before: HelixReply, signal: AbortSignal): Promise<ForeignReply> {
    const url = `${this.#url('sse')}?sessionId=${encodeURIComponent(sessionId)}`
    const headers = { accept: 'text/event-stream', 'X-Resume-From-Sequence': before.position?.id ?? '0' }
    const response = await request(this.#options, { method: 'GET', url, headers, signal })
    return this.#rememberReply(sessionId, new HelixReply(response, before.decoder, before.position, true))
  }

  #rememberReply(sessionId: string, reply: HelixReply): HelixReply {
    this.#lastReplies.set(sessionId, reply)
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

/** The request body of an answer. */
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
      return { sessionId, kind: 'interrupt-response', interruptId: answer.id, response: answer.response }
  }
}

/** Connects to a server of Helix Agents. */
export const helix = (options: HelixOptions): ForeignConnection => new ForeignConnection(new HelixServer(options))
