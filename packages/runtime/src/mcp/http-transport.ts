// Wraps the SDK's streamable HTTP transport. A truncated reply fails at once, a cancelled call closes its connection, and the
// size of replies is limited.

import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type MessageExtraInfo,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client'
import { MAX_MESSAGE_BYTES, STREAM_ENDED, TOO_LARGE, tooLargeError } from './mcp-error.ts'

/** Headers of requests, or a function that returns them for each request. */
export type McpHeaders =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | PromiseLike<Readonly<Record<string, string>>>)

type RequestId = string | number

/** Maximum time to send a cancellation, in ms. */
export const CANCEL_TIMEOUT_MS = 1000

export class HttpTransport implements Transport {
  readonly hasPerRequestStream = true
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: JSONRPCMessage, extra?: MessageExtraInfo) => void) | undefined
  readonly #inner: Transport & { setProtocolVersion(version: string): void; terminateSession(): Promise<void> }
  /** Requests in flight, with the controllers that close their connections. */
  readonly #inFlight = new Map<RequestId, AbortController>()
  /** Requests whose replies exceeded the size limit. */
  readonly #tooLarge = new Set<RequestId>()

  constructor(url: URL, headers: McpHeaders = {}) {
    const onTooLarge = (id: RequestId) => {
      if (this.#inFlight.has(id)) this.#tooLarge.add(id)
    }
    this.#inner = new StreamableHTTPClientTransport(url, {
      fetch: (input, init) => boundedFetch(input, init, headers, onTooLarge),
    })
    this.#inner.onclose = () => this.onclose?.()
    this.#inner.onerror = error => this.onerror?.(error)
    this.#inner.onmessage = message => {
      if ('id' in message && !('method' in message) && message.id !== undefined) this.#inFlight.delete(message.id)
      this.onmessage?.(message)
    }
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version)
  }

  start(): Promise<void> {
    return this.#inner.start()
  }

  async send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    if (isJSONRPCRequest(message)) return this.#ask(message.id, message, options)
    if (!('method' in message) || message.method !== 'notifications/cancelled') {
      return this.#inner.send(message, options)
    }
    // Closes the connection of the call even if the server does not accept the cancellation.
    const { requestId } = (message.params ?? {}) as { readonly requestId?: RequestId }
    if (requestId !== undefined) {
      this.#inFlight.get(requestId)?.abort()
      this.#inFlight.delete(requestId)
    }
    await this.#inner.send(message, { ...options, requestSignal: AbortSignal.timeout(CANCEL_TIMEOUT_MS) })
  }

  async #ask(id: RequestId, message: JSONRPCMessage, options: TransportSendOptions): Promise<void> {
    const controller = new AbortController()
    this.#inFlight.set(id, controller)
    const { requestSignal = controller.signal } = options
    const onRequestStreamEnd = () => {
      const code = this.#tooLarge.delete(id) ? TOO_LARGE : STREAM_ENDED
      if (!this.#inFlight.delete(id) || requestSignal.aborted) return
      const error = { code, message: 'the answer was cut off' }
      this.onmessage?.({ jsonrpc: '2.0', id, error })
    }
    try {
      await this.#inner.send(message, { ...options, requestSignal, onRequestStreamEnd })
    } catch (error) {
      this.#inFlight.delete(id)
      this.#tooLarge.delete(id)
      throw error
    }
  }

  /** Ends the session at the server. */
  terminateSession(): Promise<void> {
    return this.#inner.terminateSession()
  }

  close(): Promise<void> {
    this.#inFlight.clear()
    return this.#inner.close()
  }
}

async function boundedFetch(
  input: string | URL,
  init: RequestInit = {},
  configured: McpHeaders,
  onTooLarge: (id: RequestId) => void,
): Promise<Response> {
  const headers = new Headers(init.headers)
  // Refuses the optional GET stream for unsolicited messages, which would hold a connection open.
  if (init.method === 'GET' && !headers.has('last-event-id')) return new Response(null, { status: 405 })
  const customHeaders = typeof configured === 'function' ? await configured() : configured
  for (const [name, value] of Object.entries(customHeaders)) headers.set(name, value)
  const response = await fetch(input, { ...init, headers })
  if (response.body === null) return response
  let bytes = 0
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      if (bytes <= MAX_MESSAGE_BYTES) return controller.enqueue(chunk)
      if (typeof init.body === 'string') onTooLarge(JSON.parse(init.body).id)
      controller.error(tooLargeError())
    },
  })
  const { status, statusText } = response
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers: response.headers })
}
