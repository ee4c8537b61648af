// A dialect says what Millrace says in another system's words, and back. Its encoder and decoder keep a little state, cost the same for every chunk,
// whatever came before (but at a discard), and lie side by side, so that neither can say what the other does not understand.

import type { Chunk, Origin, RunStatus } from '@millrace/protocol'

/** A chunk, with as much about it as is known: an entry is one. */
export interface Told<C = Chunk> {
  readonly chunk: C
  readonly origin?: Origin
  readonly sequence?: number
  readonly timestamp?: number
  /** What the other side calls the message that it belongs to. */
  readonly messageId?: string
  /** Of a chunk that takes back: none of the words and calls of this stream hold that came before it, whatever was committed. */
  readonly isAnew?: boolean
  /** Whether it was said before the run, and is told of only now. */
  readonly isPast?: boolean
}

/** How a run's stream ends: with the run, or because the run waits for somebody. */
export type EndStatus = RunStatus | 'paused'

/** Says what a run's entries say, in order, in a dialect. */
export interface Encoder<Event> {
  /** What an entry says: nothing, or some events. */
  encode(told: Told): readonly Event[]
  /** Another connection goes on from here: what has to be said again before anything else. */
  resume(): readonly Event[]
  /** The run has ended, or waits: all that has to be said before the connection closes, unless it was. */
  end(status: EndStatus): readonly Event[]
}

/** Understands what a dialect says, in order. */
export interface Decoder<Event> {
  /** What an event says: nothing, or some chunks. Throws a `ProtocolError` for what is no event of the dialect. */
  decode(event: Event): readonly Told[]
  /** How the run stands, as far as it was said; undefined while it is under way: a connection that closes then was dropped, which is no end (law 7). */
  readonly status: EndStatus | undefined
}

export interface Dialect<Event, Options = object> {
  readonly name: string
  encoder(options?: Options): Encoder<Event>
  decoder(): Decoder<Event>
}
