// Replies as web `Response` objects.

import { hasLength, lengthOf, type ReadyReply, type Sink, type StreamReply } from './reply.ts'

/** Buffered bytes at which the web stream stops pulling. */
const HIGH_WATER_BYTES = 64 * 1024

/** The `Response` for a reply. */
export function responseOf(reply: ReadyReply, { method, signal }: Request): Response {
  const { status } = reply
  const headers = new Headers(reply.headers)
  if ('stream' in reply) return new Response(bodyOf(reply, signal), { status, headers })
  if (method !== 'HEAD') return new Response(reply.body as BodyInit | undefined, { status, headers })
  if (hasLength(status)) headers.set('content-length', lengthOf(reply))
  return new Response(null, { status, headers })
}

function bodyOf({ stream }: StreamReply, signal: AbortSignal): ReadableStream<Uint8Array> {
  let sink: WebSink
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        sink = new WebSink(controller)
        stream(sink)
        // Not every framework cancels the body when the client leaves. Ending it is safe; an error would surface as the framework's own.
        if (signal.aborted) sink.end()
        else signal.addEventListener('abort', () => sink.end(), { once: true })
      },
      pull: () => sink.onPull(),
      cancel: () => sink.onClosed(),
    },
    { highWaterMark: HIGH_WATER_BYTES, size: chunk => chunk.byteLength },
  )
}

class WebSink implements Sink {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>
  #isClosed = false
  #written = 0
  onDrain = (): void => {}
  onClose = (): void => {}

  constructor(controller: ReadableStreamDefaultController<Uint8Array>) {
    this.#controller = controller
  }

  get buffered(): number {
    return Math.max(0, HIGH_WATER_BYTES - (this.#controller.desiredSize ?? HIGH_WATER_BYTES))
  }

  get flushed(): number {
    return this.#written - this.buffered
  }

  write(bytes: Uint8Array): void {
    if (this.#isClosed) return
    this.#written += bytes.length
    this.#controller.enqueue(bytes)
  }

  end(): void {
    if (this.#isClosed) return
    this.#controller.close()
    this.onClosed()
  }

  destroy(): void {
    if (this.#isClosed) return
    this.#controller.error(new Error('the connection was closed'))
    this.onClosed()
  }

  /** The reader has room again. */
  onPull(): void {
    this.onDrain()
  }

  onClosed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onClose()
  }
}
