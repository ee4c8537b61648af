// Client for a server of Kortyx: posts the body of `createRouteChatTransport` and reads the response of `createChatRouteHandler`.

import type { Json, Message } from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'
import { ForeignConnection } from '../foreign-server/foreign-connection.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from '../foreign-server/foreign-server.ts'
import { HttpReply } from '../foreign-server/http-reply.ts'
import { type HttpServerOptions, request } from '../http/request.ts'
import { RequestError } from '../http/request-error.ts'
import { KortyxDecoder } from './decoder.ts'
import { selectionOf } from './events/interrupt.ts'
import type { KortyxChunk } from './types.ts'

/** Options of a connection to a Kortyx server. */
export interface KortyxOptions extends HttpServerOptions {
  /** Id of the workflow. @default the default workflow of the server */
  readonly workflowId?: string | undefined
}

/** A message of Kortyx. */
interface KortyxMessage {
  readonly role: Message['role']
  readonly content: string
  readonly metadata?: { readonly resume: Json }
}

class KortyxServer implements ForeignServer {
  readonly name = 'kortyx'
  readonly #options: KortyxOptions
  /** The tokens of requests, by request id. */
  readonly #tokens = new Map<string, string>()
  /** The requests that are answered by JSON. */
  readonly #forms = new Set<string>()

  constructor(options: KortyxOptions) {
    this.#options = options
  }

  async ask({ sessionId, kind, messages, answers, data, signal }: ForeignRequest): Promise<ForeignReply> {
    const transcript = messages.map(kortyxMessageOf)
    const body = {
      sessionId,
      workflowId: this.#options.workflowId ?? '',
      context: data !== null && typeof data === 'object' ? data : {},
      ...(kind === 'regenerate' && { regenerate: true }),
    }
    const post = async (last: readonly KortyxMessage[]) => {
      const httpRequest = { body: { ...body, messages: [...transcript, ...last] }, signal }
      const response = await request(this.#options, httpRequest)
      return new HttpReply<KortyxChunk>(response, new KortyxDecoder(this.#tokens, this.#forms))
    }
    // Kortyx accepts one answer per request.
    const [first, ...rest] = answers.map(answer => this.#resumeMessageOf(answer))
    const reply = await post(first ? [first] : [])
    return rest.length === 0
      ? reply
      : new SequentialReplies(
          reply,
          rest.map(answer => () => post([answer])),
        )
  }

  /** The message of an answer. */
  #resumeMessageOf(answer: ClientAnswer): KortyxMessage {
    const { id: requestId } = answer
    const token = this.#tokens.get(requestId)
    const selected = selectionOf(answer, this.#forms.has(requestId))
    if (token === undefined)
      throw new RequestError({
        code: 'answer_unknown',
        message: `${requestId}: no open request of the server has this id`,
      })
    if (selected === undefined)
      throw new RequestError({
        code: 'answer_invalid',
        message: `${requestId}: Kortyx does not accept a failed tool call as an answer`,
      })
    const resume = { token, requestId, selected: [...selected] }
    return { role: 'user', content: selected.join(', '), metadata: { resume } }
  }
}

/** The replies to several sequential requests as one. */
class SequentialReplies implements ForeignReply {
  #reply: ForeignReply
  readonly #next: readonly (() => Promise<ForeignReply>)[]

  constructor(first: ForeignReply, next: readonly (() => Promise<ForeignReply>)[]) {
    this.#reply = first
    this.#next = next
  }

  get status(): EndStatus | undefined {
    return this.#reply.status
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly DecodedChunk[], void, undefined> {
    yield* this.#reply
    for (const next of this.#next) {
      // A later reply must not replace a failure.
      if (this.#reply.status === undefined || this.#reply.status === 'failed') return
      this.#reply = await next()
      yield* this.#reply
    }
  }
}

const kortyxMessageOf = ({ role, parts }: Message): KortyxMessage => ({
  role,
  content: parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join(''),
})

/** Connects to a server of Kortyx, which responds with `createChatRouteHandler`. */
export const kortyx = (options: KortyxOptions): ForeignConnection => new ForeignConnection(new KortyxServer(options))
