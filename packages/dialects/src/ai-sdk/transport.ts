// A transport for `useChat` and `Chat` of the AI SDK: in place of `DefaultChatTransport`, with its options. A dropped connection goes on where it was, inside of the
// same reply, and who stops stops the run, too.

import { ProtocolError } from '@millrace/protocol'
import { RetryDelay, reconnecting, retry } from '@millrace/protocol/retry'
import { jsonEventOf, type WireEvent } from '../http/event-reader.ts'
import { newId } from '../http/new-id.ts'
import { type HttpServerOptions, request } from '../http/request.ts'
import { RequestError } from '../http/request-error.ts'
import { markedEvents, RECONNECT, StreamMarks } from '../http/resumable-stream.ts'

export interface MillraceTransportOptions extends HttpServerOptions {
  /** Goes along with each message. */
  readonly body?: object | (() => object | Promise<object>) | undefined
  /** Whether whoever stops the reply on the page stops the run, too; a page that is left stops it as well, unless its `Chat` lives longer. Yes, if nothing is said. */
  readonly stopOnAbort?: boolean | undefined
}

/** What a chat says with each request. */
export interface TransportRequest {
  readonly chatId: string
  readonly abortSignal?: AbortSignal | undefined
  readonly headers?: Record<string, string> | Headers | undefined
  readonly body?: object | undefined
}

/** What a chat sends. */
export interface SendRequest extends TransportRequest {
  readonly trigger: 'submit-message' | 'regenerate-message'
  readonly messageId: string | undefined
  readonly messages: readonly unknown[]
}

/** The chunks of a reply; what they are is for the chat's own types to say. */
export type ChunkStream = ReadableStream<never>

const NO_CONTENT = 204
/** How often it is tried once more to begin a reply. */
const FEW = 2

/** How a reply was asked for. */
interface ReplySource {
  /** Asks again, as before; where it has to be said again what was said. */
  readonly send?: () => Promise<Response>
  /** Whether the run is to stop when the reply is not wanted any more. */
  readonly isMeant: () => boolean
}

export class MillraceTransport {
  /** What is reconnected to is said from its start. */
  readonly resumeStreamIsReplay = true
  readonly #options: MillraceTransportOptions
  /** How often each chat was reconnected to. */
  readonly #reconnects = new Map<string, number>()
  /** The run of each chat whose reply was not heard to its end: it may be over when the chat asks for what is under way, and then that is nothing. */
  readonly #unheard = new Map<string, string>()

  constructor(options: MillraceTransportOptions) {
    this.#options = options
  }

  /** Says something, answers what waits, or regenerates. */
  async sendMessages(asked: SendRequest): Promise<ChunkStream> {
    const { chatId, abortSignal, headers, trigger, messageId, messages } = asked
    const { body: own } = this.#options
    const beside = typeof own === 'function' ? await own() : own
    const body = { ...beside, ...asked.body, id: chatId, messages, trigger, messageId }
    // A message has an id by which it is known again; what is to be answered anew needs a name of its own.
    const named = trigger === 'regenerate-message' ? { 'idempotency-key': newId() } : {}
    const send = (signal?: AbortSignal) =>
      request(this.#options, { body, headers: { ...named, ...plainOf(headers) }, signal })
    const leave = (response: Response) => this.#left(asked, response)
    // Not given up with the page's wish to stop: only the response says which run that is.
    const response = await unlessAborted(sendUntilResponse(send), abortSignal, leave)
    return this.#reply(asked, response, { send: () => send(abortSignal), isMeant: () => true })
  }

  /** What is under way in a chat, or waits; null where nothing is. */
  async reconnectToStream(asked: TransportRequest): Promise<ChunkStream | null> {
    const { chatId, abortSignal: signal, headers } = asked
    const count = (this.#reconnects.get(chatId) ?? 0) + 1
    this.#reconnects.set(chatId, count)
    const url = this.#url(chatId, 'stream', this.#unheard.get(chatId))
    const response = await request(this.#options, { method: 'GET', url, headers: plainOf(headers), signal })
    if (response.status === NO_CONTENT) return null
    // A chat that reconnects again gives up the connection before, and does not mean to stop anything.
    return this.#reply(asked, response, { isMeant: () => this.#reconnects.get(chatId) === count })
  }

  /** Asks the run to stop, the open one if none is named. */
  async stop(chatId: string, runId?: string): Promise<void> {
    await request(this.#options, { url: this.#url(chatId, 'stop'), body: { ...(runId !== undefined && { runId }) } })
  }

  #url(chatId: string, what: string, runId?: string): string {
    const [path = '', query] = this.#options.api.split('?')
    const run = runId === undefined ? undefined : `run=${encodeURIComponent(runId)}`
    const asked = [query, run].filter(Boolean).join('&')
    return `${path.replace(/\/+$/, '')}/${encodeURIComponent(chatId)}/${what}${asked && `?${asked}`}`
  }

  /** Nobody wants a reply any more. */
  #left({ chatId }: TransportRequest, response: Response): void {
    response.body?.cancel().catch(() => {})
    const { stopOnAbort = true } = this.#options
    if (stopOnAbort) this.stop(chatId, runOf(response)).catch(() => {})
  }

  #reply(asked: TransportRequest, response: Response, { send, isMeant }: ReplySource): ChunkStream {
    const { abortSignal: signal, chatId, headers } = asked
    const runId = runOf(response)
    const again = (after: string | undefined): Promise<Response> => {
      // Where the run has no name, what was asked is asked again: it is the same, and is done once.
      if (after === undefined && runId === undefined && send) return send()
      const place: Record<string, string> = after === undefined ? {} : { 'last-event-id': after }
      const url = this.#url(chatId, 'stream', runId)
      return request(this.#options, { method: 'GET', url, headers: { ...plainOf(headers), ...place }, signal })
    }
    if (runId !== undefined) this.#unheard.set(chatId, runId)
    const reply = new TransportReply(response, again)
    const onAbort = () => {
      reply.leave()
      // Later in this very turn the chat may reconnect.
      queueMicrotask(() => isMeant() && this.#left(asked, response))
    }
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
    return new ReadableStream<never>({
      pull: async controller => {
        const chunks = await reply.next()
        for (const chunk of chunks ?? []) controller.enqueue(chunk as never)
        if (chunks !== undefined) return
        if (reply.isDone && this.#unheard.get(chatId) === runId) this.#unheard.delete(chatId)
        signal?.removeEventListener('abort', onAbort)
        controller.close()
      },
      cancel: () => reply.leave(),
    })
  }
}

/** A reply, over as many connections as it takes. */
class TransportReply {
  readonly #again: (after: string | undefined) => Promise<Response>
  readonly #left = new AbortController()
  readonly #delay = new RetryDelay(RECONNECT)
  readonly #marks = new StreamMarks()
  readonly #events: AsyncGenerator<readonly unknown[], void, undefined>
  #response: Response | undefined
  isDone = false

  constructor(response: Response, again: (after: string | undefined) => Promise<Response>) {
    this.#again = again
    this.#response = response
    const isFinal = (error: unknown) => !(error instanceof RequestError && error.retryable)
    const lost = (error: unknown) => error ?? LOST
    this.#events = reconnecting(() => this.#connect(), this.#delay, isFinal, lost, this.#left.signal)
  }

  /** The next chunks; undefined when there are no more. */
  async next(): Promise<readonly unknown[] | undefined> {
    try {
      const { done, value } = await this.#events.next()
      return done || this.#left.signal.aborted ? undefined : value
    } catch (error) {
      if (this.#left.signal.aborted) return undefined
      this.leave()
      if (error instanceof ProtocolError) throw new RequestError({ code: error.code, message: error.message })
      throw error
    }
  }

  leave(): void {
    this.#left.abort()
  }

  async *#connect(): AsyncGenerator<readonly unknown[], boolean, undefined> {
    const response = this.#response ?? (await this.#again(this.#marks.last))
    this.#response = undefined
    const options = { marks: this.#marks, delay: this.#delay, parse: jsonEventOf, isLast, signal: this.#left.signal }
    try {
      this.isDone = yield* markedEvents(response.body, options)
    } catch (error) {
      if (error instanceof ProtocolError) throw error
    }
    return this.isDone
  }
}

const isLast = ({ data }: WireEvent): boolean => data === '[DONE]'

const LOST = new RequestError({
  code: 'connection_lost',
  message: 'The connection was lost before the server said how the run ends.',
  retryable: true,
})

/** Sends an idempotent request until there is a response. */
const sendUntilResponse = (send: () => Promise<Response>): Promise<Response> =>
  retry(send, new RetryDelay({ ...RECONNECT, attempts: FEW }), error =>
    error instanceof RequestError && error.code === 'network_error' ? 0 : false,
  )

const runOf = ({ headers }: Response): string | undefined => {
  const run = headers.get('x-run-id')
  return run === null ? undefined : decodeURIComponent(run)
}

const plainOf = (headers: HeadersInit = {}): Record<string, string> => Object.fromEntries(new Headers(headers))

/** What comes of a request; throws as soon as nobody wants it, and then `leave` is given what comes all the same. */
async function unlessAborted<T>(
  asked: Promise<T>,
  signal: AbortSignal | undefined,
  leave: (found: T) => void,
): Promise<T> {
  if (!signal) return asked
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      asked.then(leave, () => {})
      reject(new DOMException('nobody wants it any more', 'AbortError'))
    }
  })
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([asked, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** A transport for `useChat({ transport })`, by which a chat of the AI SDK goes on after a dropped connection, and stops its runs. */
export const millraceTransport = (options: MillraceTransportOptions): MillraceTransport =>
  new MillraceTransport(options)
