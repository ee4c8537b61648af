// Replies as the web has them.

import type { Reply, Sink, StreamReply } from './reply.ts'

/** As much is buffered before a stream counts as full to its own pull. */
const HIGH_WATER = 64 * 1024

/** The `Response` that a reply is. */
export function responseOf(reply: Reply): Response {
  const { status } = reply
  const headers = new Headers(reply.headers)
  if ('stream' in reply) return new Response(bodyOf(reply), { status, headers })
  return new Response(reply.body as BodyInit | undefined, { status, headers })
}

function bodyOf({ stream }: StreamReply): ReadableStream<Uint8Array> {
  let sink: WebSink
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        sink = new WebSink(controller)
        stream(sink)
      },
      pull: () => sink.pulled(),
      cancel: () => sink.closed(),
    },
    { highWaterMark: HIGH_WATER, size: chunk => chunk.byteLength },
  )
}

class WebSink implements Sink {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>
  #isClosed = false
  onDrain = (): void => {}
  onClose = (): void => {}

  constructor(controller: ReadableStreamDefaultController<Uint8Array>) {
    this.#controller = controller
  }

  get buffered(): number {
    return Math.max(0, HIGH_WATER - (this.#controller.desiredSize ?? HIGH_WATER))
  }

  write(bytes: Uint8Array): void {
    if (!this.#isClosed) this.#controller.enqueue(bytes)
  }

  end(): void {
    if (this.#isClosed) return
    this.#controller.close()
    this.closed()
  }

  destroy(): void {
    if (this.#isClosed) return
    this.#controller.error(new Error('the connection was closed'))
    this.closed()
  }

  /** Who reads has room again. */
  pulled(): void {
    this.onDrain()
  }

  closed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onClose()
  }
}
