// Large bodies, written no faster than the network takes them: who takes nothing for too long is closed (law 8).

import { Channel, type ChannelSettings } from './channel.ts'
import type { StreamReply, WholeReply } from './reply.ts'

/** What goes to a socket at once, in bytes: a body that is no longer is not worth pacing. */
export const PIECE_BYTES = 16 * 1024

/** A body that is there piece by piece, and how long it is. */
export interface Pieces {
  readonly length: number
  /** Is called once it is wanted. */
  read(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** A reply whose body is written as the network takes it; `onClose` is told once when it is over, however it went. */
export function pacedReply(
  { status, headers }: Pick<WholeReply, 'status' | 'headers'>,
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
      // What cannot be read any more is cut off: whoever reads sees that it is not whole.
      void write(channel, length, read()).catch(() => channel.destroy())
    },
  }
}

/** The pieces of what is there whole. */
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
