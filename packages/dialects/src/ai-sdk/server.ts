// Client for a server of the AI SDK: posts the body of `DefaultChatTransport` and reads the responses of its routes.

import { ProtocolError } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import type { DecodedChunk } from '../dialect/dialect.ts'
import { ForeignConnection } from '../foreign-server/foreign-connection.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from '../foreign-server/foreign-server.ts'
import { HttpReply } from '../foreign-server/http-reply.ts'
import { jsonEventOf } from '../http/event-reader.ts'
import { type HttpServerOptions, postStop, request } from '../http/request.ts'
import { RequestError } from '../http/request-error.ts'
import { decodeHistory } from './client/history.ts'
import { AiSdkDecoder } from './decoder.ts'
import { type UIMessage, uiMessagesOf } from './messages/ui-messages.ts'
import type { UIMessageChunk } from './types.ts'

/** Options of a connection to a server with the AI SDK. */
export interface AiSdkOptions extends HttpServerOptions {
  /** Added to the body of each request. @default none */
  readonly body?: object | undefined
  /** Whether the server has `GET {api}/{session}/stream`, which resumes a reply after a dropped connection or a reload. @default false */
  readonly resume?: boolean | undefined
  /**
   * Whether the server has `GET {api}/{session}/messages`, which returns the messages of a reopened session. A string is another URL for it, which
   * gets the session id as the query parameter `id`. @default false
   */
  readonly history?: boolean | string | undefined
  /** Whether the server has `POST {api}/{session}/stop`. A server that continues after the connection closes needs it. @default false */
  readonly stop?: boolean | undefined
}

const NO_CONTENT = 204

class AiSdkServer implements ForeignServer {
  readonly name = 'ai-sdk'
  readonly #options: AiSdkOptions
  /** Run ids of replies, as Millrace servers name them: encoded for a URL. */
  readonly #runs = new WeakMap<ForeignReply, string>()
  readonly resume?: NonNullable<ForeignServer['resume']>
  readonly stop?: NonNullable<ForeignServer['stop']>
  readonly history?: NonNullable<ForeignServer['history']>

  constructor(options: AiSdkOptions) {
    this.#options = options
    if (options.resume) this.resume = (foreignRequest, dropped) => this.#resume(foreignRequest, dropped)
    if (options.history) this.history = foreignRequest => this.#history(foreignRequest)
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
    const uiMessages = uiMessagesOf({ messages }).map((message): UIMessage => {
      const id = foreignIds.get(message.id)
      return id === undefined ? message : { ...message, id }
    })
    const interruptAnswers = answers.filter(answer => answer.kind === 'interrupt')
    const messageId = kind === 'continue' ? uiMessages.at(-1)?.id : replaces
    const body = {
      ...this.#options.body,
      ...(isObject(data) && data),
      id: sessionId,
      messages: uiMessages,
      trigger: kind === 'regenerate' ? 'regenerate-message' : 'submit-message',
      ...(messageId !== undefined && { messageId }),
      // Messages have no field for these.
      ...(interruptAnswers.length > 0 && { answers: interruptAnswers }),
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
    // Without the run id the server only finds an open run. With it, a run that ended meanwhile is read to its end.
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
      return decodeHistory(jsonEventOf({ data: await response.text() }))
    } catch (error) {
      // Not retryable: the same response would be invalid again.
      if (error instanceof ProtocolError) throw new RequestError({ code: error.code, message: error.message })
      throw error
    }
  }

  #url(sessionId: string, route: string): string {
    return `${this.#options.api.replace(/\/+$/, '')}/${encodeURIComponent(sessionId)}/${route}`
  }
}

/** Connects to a server of the AI SDK, which responds with `toUIMessageStreamResponse()`. */
export const aiSdk = (options: AiSdkOptions): ForeignConnection => new ForeignConnection(new AiSdkServer(options))
