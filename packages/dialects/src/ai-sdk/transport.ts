// Transport for `useChat` and `Chat` of the AI SDK, in place of `DefaultChatTransport`. A reply survives dropped connections, and aborting it stops the
// run.

import { ProtocolError } from '@millrace/protocol'
import { RetryDelay, reconnecting, retry } from '@millrace/protocol/retry'
import { jsonEventOf, type WireEvent } from '../http/event-reader.ts'
import { newId } from '../http/new-id.ts'
import { type HttpServerOptions, request } from '../http/request.ts'
import { RequestError } from '../http/request-error.ts'
import { markedEvents, RECONNECT, StreamMarks } from '../http/resumable-stream.ts'

/** Options of `millraceTransport`. */
export interface MillraceTransportOptions extends HttpServerOptions {
  /** Added to the body of each message. @default none */
  readonly body?: object | (() => object | Promise<object>) | undefined
  /** Whether aborting a reply stops its run. Closing the page aborts it, too, unless its `Chat` lives longer. @default true */
  readonly stopOnAbort?: boolean | undefined
}

/** The fields of every request of a chat. */
export interface TransportRequest {
  readonly chatId: string
  readonly abortSignal?: AbortSignal | undefined
  readonly headers?: Record<string, string> | Headers | undefined
  readonly body?: object | undefined
}

/** A request to send messages. */
export interface SendRequest extends TransportRequest {
  readonly trigger: 'submit-message' | 'regenerate-message'
  readonly messageId: string | undefined
  readonly messages: readonly unknown[]
}

/** The chunks of a reply. The AI SDK knows their type. */
export type ChunkStream = ReadableStream<never>

const NO_CONTENT = 204
/** Attempts to get the first response of a reply. */
const SEND_ATTEMPTS = 2

/** The request for a reply. */
interface ReplySource {
  /** Repeats the request, if it has to be sent again. */
  readonly send?: () => Promise<Response>
  /** Whether aborting the reply should stop its run. */
  readonly shouldStop: () => boolean
}

/** A chat transport of the AI SDK for a Millrace server, which resumes dropped replies. */
export class MillraceTransport {
  /** A reconnected stream starts from the beginning of the reply. */
  readonly resumeStreamIsReplay = true
  readonly #options: MillraceTransportOptions
  /** Number of reconnects per chat. */
  readonly #reconnects = new Map<string, number>()
  /** The run of each chat whose reply was not read to its end. A run that has ended is only found by its id. */
  readonly #unfinishedRuns = new Map<string, string>()

  constructor(options: MillraceTransportOptions) {
    this.#options = options
  }

  /**
   * Sends a message or answers, or regenerates a reply.
   * @throws a `RequestError` if the server refuses, and an `AbortError` if the reply was aborted before its first response.
   */
  async sendMessages(chatRequest: SendRequest): Promise<ChunkStream> {
    const { chatId, abortSignal, headers, trigger, messageId, messages } = chatRequest
    const { body: bodyOption } = this.#options
    const ownBody = typeof bodyOption === 'function' ? await bodyOption() : bodyOption
    const body = { ...ownBody, ...chatRequest.body, id: chatId, messages, trigger, messageId }
    // A message is idempotent by its id. A regeneration needs a key of its own.
    const idempotencyHeader = trigger === 'regenerate-message' ? { 'idempotency-key': newId() } : {}
    const send = (signal?: AbortSignal) =>
      request(this.#options, { body, headers: { ...idempotencyHeader, ...headersObject(headers) }, signal })
    const abandon = (response: Response) => this.#abandon(chatRequest, response)
    // Not aborted with the signal: only the response has the id of the run to stop.
    const response = await resultUnlessAborted(sendUntilResponse(send), abortSignal, abandon)
    return this.#reply(chatRequest, response, { send: () => send(abortSignal), shouldStop: () => true })
  }

  /**
   * Streams the open run of a chat. Null if there is none.
   * @throws a `RequestError` if the server refuses.
   */
  async reconnectToStream(chatRequest: TransportRequest): Promise<ChunkStream | null> {
    const { chatId, abortSignal: signal, headers } = chatRequest
    const count = (this.#reconnects.get(chatId) ?? 0) + 1
    this.#reconnects.set(chatId, count)
    const url = this.#url(chatId, 'stream', this.#unfinishedRuns.get(chatId))
    const response = await request(this.#options, { method: 'GET', url, headers: headersObject(headers), signal })
    if (response.status === NO_CONTENT) return null
    // A chat that reconnects aborts its earlier connection. That must not stop the run.
    return this.#reply(chatRequest, response, { shouldStop: () => this.#reconnects.get(chatId) === count })
  }

  /**
   * Stops a run.
   * @param runId @default the open run
   * @throws a `RequestError` if the server refuses.
   */
  async stop(chatId: string, runId?: string): Promise<void> {
    await request(this.#options, { url: this.#url(chatId, 'stop'), body: { ...(runId !== undefined && { runId }) } })
  }

  #url(chatId: string, route: string, runId?: string): string {
    const [path = '', query] = this.#options.api.split('?')
    const run = runId === undefined ? undefined : `run=${encodeURIComponent(runId)}`
    const search = [query, run].filter(Boolean).join('&')
    return `${path.replace(/\/+$/, '')}/${encodeURIComponent(chatId)}/${route}${search && `?${search}`}`
  }

  /** Cancels a response that is not needed, and stops its run. */
  #abandon({ chatId }: TransportRequest, response: Response): void {
    response.body?.cancel().catch(() => {})
    const { stopOnAbort = true } = this.#options
    if (stopOnAbort) this.stop(chatId, runIdOf(response)).catch(() => {})
  }

  #reply(chatRequest: TransportRequest, response: Response, { send, shouldStop }: ReplySource): ChunkStream {
    const { abortSignal: signal, chatId, headers } = chatRequest
    const runId = runIdOf(response)
    const reconnect = (after: string | undefined): Promise<Response> => {
      // Without a run id the request is repeated. It is idempotent.
      if (after === undefined && runId === undefined && send) return send()
      const resumeHeader: Record<string, string> = after === undefined ? {} : { 'last-event-id': after }
      const url = this.#url(chatId, 'stream', runId)
      return request(this.#options, {
        method: 'GET',
        url,
        headers: { ...headersObject(headers), ...resumeHeader },
        signal,
      })
    }
    if (runId !== undefined) this.#unfinishedRuns.set(chatId, runId)
    const reply = new TransportReply(response, reconnect)
    const onAbort = () => {
      reply.abort()
      // The chat may reconnect later in this task.
      queueMicrotask(() => shouldStop() && this.#abandon(chatRequest, response))
    }
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
    return new ReadableStream<never>({
      pull: async controller => {
        const chunks = await reply.next()
        for (const chunk of chunks ?? []) controller.enqueue(chunk as never)
        if (chunks !== undefined) return
        if (reply.isDone && this.#unfinishedRuns.get(chatId) === runId) this.#unfinishedRuns.delete(chatId)
        signal?.removeEventListener('abort', onAbort)
        controller.close()
      },
      cancel: () => reply.abort(),
    })
  }
}

/** A reply over one or more connections. */
class TransportReply {
  readonly #reconnect: (after: string | undefined) => Promise<Response>
  readonly #abort = new AbortController()
  readonly #delay = new RetryDelay(RECONNECT)
  readonly #marks = new StreamMarks()
  readonly #events: AsyncGenerator<readonly unknown[], void, undefined>
  #response: Response | undefined
  isDone = false

  constructor(response: Response, reconnect: (after: string | undefined) => Promise<Response>) {
    this.#reconnect = reconnect
    this.#response = response
    const isFinal = (error: unknown) => !(error instanceof RequestError && error.retryable)
    const errorOf = (error: unknown) => error ?? CONNECTION_LOST
    this.#events = reconnecting(() => this.#connect(), this.#delay, isFinal, errorOf, this.#abort.signal)
  }

  /** Undefined at the end of the reply. */
  async next(): Promise<readonly unknown[] | undefined> {
    try {
      const { done, value } = await this.#events.next()
      return done || this.#abort.signal.aborted ? undefined : value
    } catch (error) {
      if (this.#abort.signal.aborted) return undefined
      this.abort()
      if (error instanceof ProtocolError) throw new RequestError({ code: error.code, message: error.message })
      throw error
    }
  }

  abort(): void {
    this.#abort.abort()
  }

  async *#connect(): AsyncGenerator<readonly unknown[], boolean, undefined> {
    const response = this.#response ?? (await this.#reconnect(this.#marks.last))
    this.#response = undefined
    const options = { marks: this.#marks, delay: this.#delay, parse: jsonEventOf, isLast, signal: this.#abort.signal }
    try {
      this.isDone = yield* markedEvents(response.body, options)
    } catch (error) {
      if (error instanceof ProtocolError) throw error
    }
    return this.isDone
  }
}

const isLast = ({ data }: WireEvent): boolean => data === '[DONE]'

const CONNECTION_LOST = new RequestError({
  code: 'connection_lost',
  message: 'The connection was lost before the server reported how the run ended: read the session again.',
  retryable: true,
})

/** Sends an idempotent request until there is a response. */
const sendUntilResponse = (send: () => Promise<Response>): Promise<Response> =>
  retry(send, new RetryDelay({ ...RECONNECT, attempts: SEND_ATTEMPTS }), error =>
    error instanceof RequestError && error.code === 'network_error' ? 0 : false,
  )

const runIdOf = ({ headers }: Response): string | undefined => {
  const run = headers.get('x-run-id')
  return run === null ? undefined : decodeURIComponent(run)
}

const headersObject = (headers: HeadersInit = {}): Record<string, string> => Object.fromEntries(new Headers(headers))

/** Rejects as soon as the signal aborts. A response that still arrives is passed to `onLateResult`. */
async function resultUnlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  onLateResult: (result: T) => void,
): Promise<T> {
  if (!signal) return work
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      work.then(onLateResult, () => {})
      reject(new DOMException('the request was aborted', 'AbortError'))
    }
  })
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Creates a transport for `useChat({ transport })`. Chats survive dropped connections and stop their runs. */
export const millraceTransport = (options: MillraceTransportOptions): MillraceTransport =>
  new MillraceTransport(options)
