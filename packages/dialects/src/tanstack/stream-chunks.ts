import type { Entry } from '@millrace/protocol'
import { TanstackEncoder, type TanstackEncoderOptions } from './encoder.ts'
import type { ContentStreamChunk, TanstackStreamChunk } from './types.ts'

/** A chunk with its delta, as clients need it. */
export type ServedStreamChunk =
  | Exclude<TanstackStreamChunk, ContentStreamChunk>
  | (ContentStreamChunk & { readonly delta: string })

/** Options of a stream of chunks of TanStack AI. */
export interface StreamChunksOptions extends TanstackEncoderOptions {
  /** Sends only chunks after this position of the log, for a client that has answered a request. */
  readonly after?: number | undefined
}

/**
 * Chunks of a run for `stream()` of the TanStack AI client, without HTTP. Takes the entries of the run from its start, and ends when the run ends or
 * pauses. Chunks without an equivalent have a type that clients ignore (`isMillraceStreamChunk`).
 */
export async function* streamChunks(
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  { after, ...options }: StreamChunksOptions = {},
): AsyncGenerator<ServedStreamChunk, void, void> {
  const encoder = new TanstackEncoder(options)
  let isMuted = after !== undefined
  let status: Parameters<TanstackEncoder['end']>[0] | undefined
  for await (const entry of entries) {
    const { chunk, sequence } = entry
    if (isMuted && sequence > (after as number)) {
      isMuted = false
      yield* encoder.resume() as ServedStreamChunk[]
    }
    const events = encoder.encode(entry)
    if (!isMuted) yield* events as ServedStreamChunk[]
    if (chunk.type === 'run-finished') status = chunk.status
    else if (chunk.type === 'run-paused') status = 'paused'
    else if (chunk.type === 'run-resumed') status = undefined
  }
  // A reader that stops early gets no end (law 7).
  if (status !== undefined) yield* encoder.end(status) as ServedStreamChunk[]
}
