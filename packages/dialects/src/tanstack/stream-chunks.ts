import type { Entry } from '@millrace/protocol'
import type { ContentStreamChunk, TanstackStreamChunk } from './chunk.ts'
import { TanstackEncoder, type TanstackEncoderOptions } from './encoder.ts'

/** A chunk as clients want it: with what is new. */
export type SpokenStreamChunk =
  | Exclude<TanstackStreamChunk, ContentStreamChunk>
  | (ContentStreamChunk & { readonly delta: string })

export interface StreamChunksOptions extends TanstackEncoderOptions {
  /** Only what comes after this place in the log is said: for who has answered what the run waited for. */
  readonly after?: number | undefined
}

/**
 * A run, for `stream()` of TanStack AI's client: its chunks to the end or the pause, with no wire between. Takes the run's entries from its start. What has no chunk in
 * TanStack AI is among them, under a type that its clients ignore (`isMillraceStreamChunk`).
 */
export async function* streamChunks(
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  { after, ...options }: StreamChunksOptions = {},
): AsyncGenerator<SpokenStreamChunk, void, void> {
  const encoder = new TanstackEncoder(options)
  let isMuted = after !== undefined
  let status: Parameters<TanstackEncoder['end']>[0] | undefined
  for await (const entry of entries) {
    const { chunk, sequence } = entry
    if (isMuted && sequence > (after as number)) {
      isMuted = false
      yield* encoder.resume() as SpokenStreamChunk[]
    }
    const events = encoder.encode(entry)
    if (!isMuted) yield* events as SpokenStreamChunk[]
    if (chunk.type === 'run-finished') status = chunk.status
    else if (chunk.type === 'run-paused') status = 'paused'
    else if (chunk.type === 'run-resumed') status = undefined
  }
  // Who leaves before the end has heard of none (law 7).
  if (status !== undefined) yield* encoder.end(status) as SpokenStreamChunk[]
}
