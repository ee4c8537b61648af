// A `fetch` for the packages of providers. They buffer what is not a complete event yet, which the limits of answers cannot
// see.

import { ProviderError, ValidationError } from '../error/error.ts'

/** Options of `boundedFetch`. */
export interface BoundedFetchOptions {
  /**
   * Maximum size of a line of an event stream, and of any other response, in bytes.
   * @default 33_554_432
   */
  readonly maxBytes?: number
  /** The function that sends the requests. @default the global fetch */
  readonly fetch?: typeof fetch
}

/** Default of `maxBytes`. */
export const MAX_BUFFERED_BYTES = 32 * 1024 * 1024

const NEWLINE = 0x0a

/**
 * Returns a `fetch` that ends a response which its reader would have to buffer without end: an event stream without line
 * breaks, or any other response that is too large. Pass it to the package of a provider.
 * @throws {ValidationError} if `maxBytes` is not above 0.
 */
export function boundedFetch({
  maxBytes = MAX_BUFFERED_BYTES,
  fetch: send = fetch,
}: BoundedFetchOptions = {}): typeof fetch {
  if (typeof maxBytes !== 'number' || !(maxBytes > 0)) {
    throw new ValidationError(`boundedFetch: maxBytes: expected a number above 0, found ${maxBytes}`)
  }
  return async (input, init) => {
    const response = await send(input, init)
    if (response.body === null) return response
    const isEventStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
    const bounded = response.body.pipeThrough(boundedBytes(maxBytes, isEventStream))
    const { status, statusText, headers } = response
    return new Response(bounded, { status, statusText, headers })
  }
}

function boundedBytes(maxBytes: number, isEventStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  /** Bytes that the reader may hold back. */
  let buffered = 0
  return new TransformStream({
    transform(piece, controller) {
      const lineEnd = isEventStream ? piece.lastIndexOf(NEWLINE) : -1
      buffered = lineEnd < 0 ? buffered + piece.byteLength : piece.byteLength - lineEnd - 1
      if (buffered <= maxBytes) return controller.enqueue(piece)
      const what = isEventStream ? 'a line' : 'a response'
      controller.error(
        new ProviderError(
          'provider_error',
          `the provider sent ${what} of more than ${maxBytes} bytes: raise maxBytes of boundedFetch`,
        ),
      )
    },
  })
}
