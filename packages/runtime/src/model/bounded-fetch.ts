// A `fetch` for the packages of providers. They buffer what is not a complete event yet, which the limits of answers cannot
// see.

import { ProviderError, ValidationError } from '../error/error.ts'

/** Options of `boundedFetch`. */
export interface BoundedFetchOptions {
  /**
   * Maximum size of one event of an event stream, and of any other response, in bytes.
   * @default 33_554_432
   */
  readonly maxBytes?: number
  /** The function that sends the requests. @default the global fetch */
  readonly fetch?: typeof fetch
}

/** Default of `maxBytes`. */
export const MAX_BUFFERED_BYTES = 32 * 1024 * 1024

/**
 * Returns a `fetch` that ends a response which its reader would have to buffer without end: an event without
 * an end, or any other response that is too large. Pass it to the package of a provider.
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
  let wasLineEnd = false
  return new TransformStream({
    transform(piece, controller) {
      const end = isEventStream ? eventEnd(piece, wasLineEnd) : -1
      buffered = end < 0 ? buffered + piece.byteLength : piece.byteLength - end
      const isBeforeCr = piece.length > 1 ? piece.at(-2) === LF : wasLineEnd
      wasLineEnd = piece.at(-1) === LF || (piece.at(-1) === CR && isBeforeCr)
      if (buffered <= maxBytes) return controller.enqueue(piece)
      const what = isEventStream ? 'an event' : 'a response'
      controller.error(
        new ProviderError(
          'provider_error',
          `the provider sent ${what} of more than ${maxBytes} bytes: raise maxBytes of boundedFetch`,
        ),
      )
    },
  })
}

const [LF, CR] = [0x0a, 0x0d]

/** The position after the last empty line, which ends an event; -1 if there is none. */
function eventEnd(piece: Uint8Array, wasLineEnd: boolean): number {
  const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
  const last = Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\n\r\n'))
  if (last >= 0) return bytes.indexOf(LF, last + 1) + 1
  if (!wasLineEnd) return -1
  // The line ended with the previous piece.
  if (bytes[0] === LF) return 1
  return bytes[0] === CR && bytes[1] === LF ? 2 : -1
}
