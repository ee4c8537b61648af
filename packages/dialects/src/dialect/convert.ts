import { ProtocolError } from '@millrace/protocol'
import type { Dialect } from './dialect.ts'

/**
 * Converts a stream of one dialect to another.
 * @throws a `ProtocolError` if the stream stops before its end. No dialect may take that for an end (law 7).
 */
export async function* convert<From, To>(
  stream: AsyncIterable<From> | Iterable<From>,
  from: Pick<Dialect<From>, 'decoder'>,
  to: Pick<Dialect<To>, 'encoder'>,
): AsyncGenerator<To, void, void> {
  const decoder = from.decoder()
  const encoder = to.encoder()
  for await (const event of stream) {
    for (const decoded of decoder.decode(event)) yield* encoder.encode(decoded)
  }
  if (decoder.status === undefined)
    throw new ProtocolError('stream-cut', 'stream: expected the end of the run, but the stream stopped before it')
  yield* encoder.end(decoder.status)
}
