// The events in which a connection carries chunks.

import type { Origin } from '@millrace/protocol'
import type { Supplement } from '../dialect/supplement.ts'
import type { StreamChunk } from './chunk.ts'

/** A chunk and where it stands. What it does not say of what it stands for goes along beside it, so that the chunk itself is just as its page has it. */
export interface StreamChunkEvent {
  readonly type: 'chunk'
  readonly chunk: StreamChunk
  /** Of what goes by several chunks the last one has it: who goes on after it has had them all. */
  readonly sequence?: number | undefined
  readonly millrace?: Supplement
  /** Whose it is, where it is a sub-agent's or a guest's. */
  readonly origin?: Origin
}

export interface StreamEndEvent {
  readonly type: 'end'
  readonly finalOutput?: unknown
}

export interface StreamFailEvent {
  readonly type: 'fail'
  readonly error: string
}

export interface StreamStatusEvent {
  readonly type: 'status'
  readonly status: 'paused' | 'active'
}

/** The place from which somebody wants to go on is not in the log: a snapshot tells where it stands. */
export interface StreamTruncatedEvent {
  readonly type: 'truncated'
  readonly truncatedAtStep: number
  readonly atSequence?: number | undefined
}

export type StreamEvent = StreamChunkEvent | StreamEndEvent | StreamFailEvent | StreamStatusEvent | StreamTruncatedEvent

/** A chunk as a store keeps it. */
export interface StoredChunk {
  readonly chunk: StreamChunk
  readonly sequence: number
}

/** The page names three; a stream that waits is `paused`. */
export type ResumableStreamStatus = 'active' | 'paused' | 'ended' | 'failed'
