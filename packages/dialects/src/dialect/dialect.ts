// A dialect translates between Millrace's chunks and the events of another system. Encoder and decoder keep little state and take constant time per chunk (except at
// a discard). They live side by side, so that the decoder understands all that the encoder writes.

import type { Chunk, Origin, RunStatus } from '@millrace/protocol'

/** A chunk, with as much context as is known. An `Entry` is one, too. */
export interface DecodedChunk<C = Chunk> {
  /** The chunk. */
  readonly chunk: C
  /** Author of the chunk. */
  readonly origin?: Origin
  /** Sequence of the chunk in the log. */
  readonly sequence?: number
  /** Time of the chunk, in ms since 1970. */
  readonly timestamp?: number
  /** The other system's id for the message of the chunk. */
  readonly messageId?: string
  /** On a discard: retracts all text and tool calls that came before it in this stream, committed ones included. */
  readonly retractsAll?: boolean
  /** Whether the chunk belongs to an earlier turn, which the stream repeats. */
  readonly isHistory?: boolean
}

/** The status with which the stream of a run ends: that of the ended run, or `paused`. */
export type EndStatus = RunStatus | 'paused'

/** Encodes the entries of a run, in order, as events of a dialect. */
export interface Encoder<Event> {
  /** Encodes an entry as zero or more events. */
  encode(decoded: DecodedChunk): readonly Event[]
  /** Starts another connection at this point. Returns the events to repeat first. */
  resume(): readonly Event[]
  /** Ends the stream, because the run has ended or is paused. Returns the events that are still missing. */
  end(status: EndStatus): readonly Event[]
}

/** Decodes the events of a dialect, in order. */
export interface Decoder<Event> {
  /**
   * Decodes an event to zero or more chunks.
   * @throws a `ProtocolError` if the event is not one of the dialect.
   */
  decode(event: Event): readonly DecodedChunk[]
  /** The status with which the stream ended. Undefined until an event reports it: a connection that closes before then was dropped (law 7). */
  readonly status: EndStatus | undefined
}

/** Translates between chunks and the events of another system. */
export interface Dialect<Event, Options = object> {
  /** Name of the dialect. */
  readonly name: string
  /** Creates an encoder for one run. */
  encoder(options?: Options): Encoder<Event>
  /** Creates a decoder for one stream. */
  decoder(): Decoder<Event>
}
