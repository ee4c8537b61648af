// A server of the AI SDK, as our client asks it: what `DefaultChatTransport` posts, and what its routes answer.

import { ProtocolError } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import type { DecodedChunk } from '../dialect/dialect.ts'
import { ForeignConnection } from '../foreign-server/foreign-connection.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from '../foreign-server/foreign-server.ts'
import { HttpReply } from '../foreign-server/http-reply.ts'
import { jsonEventOf } from '../http/event-reader.ts'
import { type HttpServerOptions, postStop, request } from '../http/request.ts'
import { RequestError } from '../http/request-error.ts'
import type { UIMessageChunk } from './chunk.ts'
import { AiSdkDecoder } from './decoder.ts'
import { toldIn } from './history.ts'
import { type UIMessage, uiMessagesOf } from './message.ts'

export interface AiSdkOptions extends HttpServerOptions {
  /** Goes along with each request, beside what `DefaultChatTransport` would send. */
  readonly body?: object | undefined
  /** Whether the server has `GET {api}/{session}/stream`, by which a reply goes on after its connection was lost, or the page was loaded again. */
  readonly resume?: boolean | undefined
  /** Whether the server has `GET {api}/{session}/messages`, which gives what was said in a session that is opened again; or where else that is, with the session in its query as `id`. */
  readonly history?: boolean | string | undefined
  /** Whether the server has `POST {api}/{session}/stop`: one that goes on when nobody listens any more needs to be told. */
  readonly stop?: boolean | undefined
}

const NO_CONTENT = 204

class AiSdkServer implements ForeignServer {
  readonly name = 'ai-sdk'
  readonly #options: AiSdkOptions
  /** The runs of replies, as servers of ours name them: encoded for a URL. */
  readonly #runs = new WeakMap<ForeignReply, string>()
  readonly resume?: NonNullable<ForeignServer['resume']>
  readonly stop?: NonNullable<ForeignServer['stop']>
  readonly history?: NonNullable<ForeignServer['history']>

  constructor(options: AiSdkOptions) {
    this.#options = options
    if (options.resume) this.resume = (asking, dropped) => this.#resume(asking, dropped)
    if (options.history) this.history = asking => this.#history(asking)
    if (options.stop) this.stop = ({ sessionId, signal }) => postStop(options, sessionId, signal)
  }

  async ask({
    sessionId,
    kind,
    messages,
    answers,
    foreignIds,
    replaces,
    data,
    signal,
  }: ForeignRequest): Promise<ForeignReply> {
    const said = uiMessagesOf({ messages }).map((message): UIMessage => {
      const id = foreignIds.get(message.id)
      return id === undefined ? message : { ...message, id }
    })
    const questions = answers.filter(answer => answer.kind === 'interrupt')
    const messageId = kind === 'continue' ? said.at(-1)?.id : replaces
    const body = {
      ...this.#options.body,
      ...(isObject(data) && data),
      id: sessionId,
      messages: said,
      trigger: kind === 'regenerate' ? 'regenerate-message' : 'submit-message',
      ...(messageId !== undefined && { messageId }),
      // What messages have no place for.
      ...(questions.length > 0 && { answers: questions }),
    }
    return this.#reply(await request(this.#options, { body, signal }), false)
  }

  #reply(response: Response, isReplay: boolean): ForeignReply {
    const reply = new HttpReply<UIMessageChunk>(response, new AiSdkDecoder(), { isReplay })
    const runId = response.headers.get('x-run-id')
    if (runId !== null) this.#runs.set(reply, runId)
    return reply
  }

  async #resume({ sessionId, signal }: ForeignRequest, dropped?: ForeignReply): Promise<ForeignReply | undefined> {
    const runId = dropped && this.#runs.get(dropped)
    // One that ended meanwhile is under way no more: who can name it hears it to its end all the same.
    const url = this.#url(sessionId, runId === undefined ? 'stream' : `stream?run=${runId}`)
    const response = await request(this.#options, { method: 'GET', url, signal })
    if (response.status === NO_CONTENT) return undefined
    return this.#reply(response, true)
  }

  async #history({
    sessionId,
    signal,
  }: Pick<ForeignRequest, 'sessionId' | 'signal'>): Promise<readonly DecodedChunk[]> {
    const { history } = this.#options
    const url =
      typeof history === 'string'
        ? `${history}${history.includes('?') ? '&' : '?'}id=${encodeURIComponent(sessionId)}`
        : this.#url(sessionId, 'messages')
    const response = await request(this.#options, { method: 'GET', url, signal })
    try {
      return toldIn(jsonEventOf({ data: await response.text() }))
    } catch (error) {
      // What is wrong stays wrong.
      if (error instanceof ProtocolError) throw new RequestError({ code: error.code, message: error.message })
      throw error
    }
  }

  #url(sessionId: string, what: string): string {
    return `${this.#options.api.replace(/\/+$/, '')}/${encodeURIComponent(sessionId)}/${what}`
  }
}

/** A connection to a server of the AI SDK: what answers with `toUIMessageStreamResponse()`. */
export const aiSdk = (options: AiSdkOptions): ForeignConnection => new ForeignConnection(new AiSdkServer(options))
