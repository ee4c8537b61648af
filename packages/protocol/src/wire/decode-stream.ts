// Applies the decoders, which are synchronous, to a response body.

import type { Frame } from '../frame/frame.ts'
import { END, pipe, type StreamOptions } from '../streams/pipe.ts'
import type { DecoderOptions, FrameDecoder } from './frame-decoder.ts'
import { NdjsonDecoder } from './ndjson.ts'
import { SseDecoder } from './sse.ts'

/** Options of a decoded stream. */
export type DecodeOptions = StreamOptions & Omit<DecoderOptions, 'onFrame'>

/** A body as an async iterable. Uses a reader, because not every browser can iterate over a body. */
const chunks = (body: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]() {
    const reader = body.getReader()
    return {
      next: async () => {
        const chunk = await reader.read()
        if (chunk.done) reader.releaseLock()
        return chunk as IteratorResult<Uint8Array, undefined>
      },
      return: async () => {
        await reader.cancel()
        reader.releaseLock()
        return END
      },
    }
  },
})

const decodeWith =
  (Decoder: new (options: DecoderOptions) => FrameDecoder) =>
  (body: ReadableStream<Uint8Array>, options: DecodeOptions = {}): AsyncIterableIterator<Frame, undefined> =>
    pipe(
      chunks(body),
      async function* (pieces) {
        const frames: Frame[] = []
        const decoder = new Decoder({ ...options, onFrame: frame => frames.push(frame) })
        function* after(work: () => void) {
          try {
            work()
          } finally {
            for (const frame of frames.splice(0)) {
              options.signal?.throwIfAborted()
              yield frame
            }
          }
        }
        for await (const piece of pieces) yield* after(() => decoder.push(piece))
        yield* after(() => decoder.end())
      },
      options,
    )

/**
 * The frames of an SSE body. Leaving the loop or aborting cancels the body.
 * @throws ProtocolError for an invalid frame, after the valid frames before it.
 */
export const decodeSseStream = /* @__PURE__ */ decodeWith(SseDecoder)

/**
 * The frames of an NDJSON body. Leaving the loop or aborting cancels the body.
 * @throws ProtocolError for an invalid frame, after the valid frames before it.
 */
export const decodeNdjsonStream = /* @__PURE__ */ decodeWith(NdjsonDecoder)
