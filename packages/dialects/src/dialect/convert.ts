import { ProtocolError } from '@millrace/protocol'
import type { Dialect } from './dialect.ts'

/** A stream of one dialect in another; throws a `ProtocolError` where it breaks off, which no dialect may take for its end (law 7). */
export async function* convert<From, To>(
  stream: AsyncIterable<From> | Iterable<From>,
  from: Pick<Dialect<From>, 'decoder'>,
  to: Pick<Dialect<To>, 'encoder'>,
): AsyncGenerator<To, void, void> {
  const decoder = from.decoder()
  const encoder = to.encoder()
  for await (const event of stream) {
    for (const told of decoder.decode(event)) yield* encoder.encode(told)
  }
  if (decoder.status === undefined) throw new ProtocolError('stream-cut', 'stream: it broke off before its end')
  yield* encoder.end(decoder.status)
}
