// A server of Kortyx, as our client asks it: what `createRouteChatTransport` posts, and what `createChatRouteHandler` answers.

import type { Json, Message } from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'
import { ForeignConnection } from '../foreign-server/foreign-connection.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from '../foreign-server/foreign-server.ts'
import { HttpReply } from '../foreign-server/http-reply.ts'
import { type HttpServerOptions, request } from '../http/request.ts'
import { RequestError } from '../http/request-error.ts'
import type { KortyxChunk } from './chunk.ts'
import { KortyxDecoder } from './decoder.ts'
import { selectedBy } from './interrupt.ts'

export interface KortyxOptions extends HttpServerOptions {
  /** Which of the server's workflows; its own choice, if nothing is said. */
  readonly workflowId?: string | undefined
}

/** A message, as Kortyx has it. */
interface KortyxMessage {
  readonly role: Message['role']
  readonly content: string
  readonly metadata?: { readonly resume: Json }
}

class KortyxServer implements ForeignServer {
  readonly name = 'kortyx'
  readonly #options: KortyxOptions
  /** What answers the requests that were made. */
  readonly #tokens = new Map<string, string>()

  constructor(options: KortyxOptions) {
    this.#options = options
  }

  async ask({ sessionId, kind, messages, answers, data, signal }: ForeignRequest): Promise<ForeignReply> {
    const said = messages.map(saidOf)
    const body = {
      sessionId,
      workflowId: this.#options.workflowId ?? '',
      context: data !== null && typeof data === 'object' ? data : {},
      ...(kind === 'regenerate' && { regenerate: true }),
    }
    const post = async (last: readonly KortyxMessage[]) => {
      const asking = { body: { ...body, messages: [...said, ...last] }, signal }
      return new HttpReply<KortyxChunk>(await request(this.#options, asking), new KortyxDecoder(this.#tokens))
    }
    // Kortyx takes one answer at a time.
    const [first, ...rest] = answers.map(answer => this.#resumes(answer))
    const reply = await post(first ? [first] : [])
    return rest.length === 0
      ? reply
      : new Replies(
          reply,
          rest.map(answer => () => post([answer])),
        )
  }

  /** How an answer is said. */
  #resumes(answer: ClientAnswer): KortyxMessage {
    const { id: requestId } = answer
    const token = this.#tokens.get(requestId)
    const selected = selectedBy(answer)
    if (token === undefined)
      throw new RequestError({
        code: 'answer_unknown',
        message: `${requestId}: the server has not asked for that here`,
      })
    if (selected === undefined)
      throw new RequestError({ code: 'answer_invalid', message: `${requestId}: Kortyx cannot be told that it failed` })
    const resume = { token, requestId, selected: [...selected] }
    return { role: 'user', content: selected.join(', '), metadata: { resume } }
  }
}

/** Several requests, one after the other, as one reply. */
class Replies implements ForeignReply {
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
      if (this.#reply.status === undefined) return
      this.#reply = await next()
      yield* this.#reply
    }
  }
}

const saidOf = ({ role, parts }: Message): KortyxMessage => ({
  role,
  content: parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join(''),
})

/** A connection to a server of Kortyx: what answers with `createChatRouteHandler`. */
export const kortyx = (options: KortyxOptions): ForeignConnection => new ForeignConnection(new KortyxServer(options))
