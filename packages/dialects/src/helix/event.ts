// The events of a connection, which carry the chunks.

import type { Origin } from '@millrace/protocol'
import type { Supplement } from '../dialect/supplement.ts'
import type { StreamChunk } from './chunk.ts'

/** A chunk and its position. The supplement is outside of the chunk, which stays as documented. */
export interface StreamChunkEvent {
  readonly type: 'chunk'
  readonly chunk: StreamChunk
  /** Set on the last of several chunks of one entry: a client that resumes after it has all of them. */
  readonly sequence?: number | undefined
  readonly millrace?: Supplement
  /** The origin of a sub-agent or a guest. */
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

/** The resume position is not in the log. A snapshot has the current one. */
export interface StreamTruncatedEvent {
  readonly type: 'truncated'
  readonly truncatedAtStep: number
  readonly atSequence?: number | undefined
}

export type StreamEvent = StreamChunkEvent | StreamEndEvent | StreamFailEvent | StreamStatusEvent | StreamTruncatedEvent

/** A stored chunk. */
export interface StoredChunk {
  readonly chunk: StreamChunk
  readonly sequence: number
}

/** The documentation has three statuses. A waiting stream is `paused`. */
export type ResumableStreamStatus = 'active' | 'paused' | 'ended' | 'failed'
