// Large bodies, written no faster than the network accepts them. A stalled connection is closed (law 8).

import { Channel, type ChannelSettings } from './channel.ts'
import type { CompleteReply, StreamReply } from './reply.ts'

/** Size of one write, in bytes. Bodies up to this size are not paced. */
export const PIECE_BYTES = 16 * 1024

/** A body in pieces, and its length in bytes. */
export interface Pieces {
  readonly length: number
  /** Called once, when the body is sent. */
  read(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** A reply whose body is written at the pace of the network. `onClose` is called once at the end, also after a failure. */
export function pacedReply(
  { status, headers }: Pick<CompleteReply, 'status' | 'headers'>,
  { length, read }: Pieces,
  settings: ChannelSettings,
  onClose: () => void = () => {},
): StreamReply {
  return {
    status,
    headers: { ...headers, 'content-length': String(length) },
    stream: sink => {
      const channel = new Channel(sink, settings)
      void channel.closed.then(onClose)
      // Reading failed: the client notices from the missing bytes.
      void write(channel, length, read()).catch(() => channel.destroy())
    },
  }
}

/** The pieces of a complete body. */
export const piecesOf = (body: Uint8Array): Pieces => ({
  length: body.byteLength,
  *read() {
    for (let at = 0; at < body.byteLength; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES)
  },
})

async function write(channel: Channel, length: number, pieces: ReturnType<Pieces['read']>): Promise<void> {
  let written = 0
  for await (const piece of pieces) {
    if (!(await channel.room())) return
    channel.write(piece)
    written += piece.byteLength
  }
  if (written === length) channel.end()
  else channel.destroy()
}
