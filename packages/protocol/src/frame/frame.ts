// Within a version, fields are only added, and a reader ignores those that it does not know. A new type of frame needs a new version: a
// reader could not tell what it misses, so it refuses both.
//
// A session's frames lie between its `open` and one closing frame: `end`, `truncated` or `fail`. Then nothing more comes of it, unless it
// opens again. A session that cannot be opened gets a `truncated` or `fail` alone. Once a connection has known two sessions every frame
// names its own; only a `fail` may leave it out, and then it is about the whole connection and closes all of them.

import type { RunStatus } from '../catalogue/chunk.ts'
import type { FieldTypes } from '../catalogue/field-types.ts'
import type { Entry, Origin } from '../entry/entry.ts'
import type { Json } from '../json/json.ts'

/** The version of the frames that this package speaks. */
export const PROTOCOL_VERSION = 1

/** The fields of each frame, in the notation of the catalogue; `entries` are looked at one by one. */
export const frames = {
  open: {
    protocol: `${PROTOCOL_VERSION}`,
    sessionId: 'string',
    incarnation: 'string',
    head: 'count',
    heartbeatMs: 'count',
    cursor: 'string',
  },
  entries: { sessionId: 'string?', after: 'count?', sequence: 'count', entries: 'json[]', cursor: 'string' },
  'caught-up': { sessionId: 'string?', sequence: 'count', cursor: 'string' },
  status: { sessionId: 'string?', status: 'liveStatus' },
  end: { sessionId: 'string?', status: 'endStatus', output: 'json?', sequence: 'count' },
  truncated: { sessionId: 'string?', floor: 'count', incarnation: 'string', reason: 'truncation?', head: 'count?' },
  fail: { sessionId: 'string?', error: 'failure', recoverable: 'boolean' },
} as const satisfies Record<string, FieldTypes>

/** Comes first for each session: what this connection is about. */
export interface OpenFrame {
  type: 'open'
  protocol: typeof PROTOCOL_VERSION
  sessionId: string
  incarnation: string
  head: number
  /** Milliseconds after which silence means that the connection is dead. */
  heartbeatMs: number
  cursor: string
}

/** All that this connection is to see of `(after, sequence]`. */
export interface EntriesFrame {
  type: 'entries'
  sessionId?: string
  /** Left out on the wire where it is the `sequence` of the session's frame before. */
  after: number
  sequence: number
  entries: Entry[]
  cursor: string
}

/** The replay is over; what follows is live. */
export interface CaughtUpFrame {
  type: 'caught-up'
  sessionId?: string
  sequence: number
  cursor: string
}

/** The open run waits, or goes on. */
export interface StatusFrame {
  type: 'status'
  sessionId?: string
  status: 'paused' | 'active'
}

/** Closes a run-scoped connection: the run ended, or waits. */
export interface EndFrame {
  type: 'end'
  sessionId?: string
  status: RunStatus | 'paused'
  output?: Json
  /** Where the run ended, or began to wait. */
  sequence: number
}

/** Closes: the cursor does not match what the log holds, take a snapshot. */
export interface TruncatedFrame {
  type: 'truncated'
  sessionId?: string
  floor: number
  incarnation: string
  /** Why the cursor does not match. */
  reason?: 'incarnation' | 'epoch' | 'past-head' | 'below-floor'
  head?: number
}

/** Closes its session, or all of them where it names none: the connection's own trouble; `recoverable` says reconnect. */
export interface FailFrame {
  type: 'fail'
  sessionId?: string
  error: { code: string; message: string; retryable?: boolean }
  recoverable: boolean
}

/** What one connection carries. */
export type Frame = OpenFrame | EntriesFrame | CaughtUpFrame | StatusFrame | EndFrame | TruncatedFrame | FailFrame

/** An entry as a connection carries it: without an origin it has that of the entry before it in its frame. */
export type WireEntry = Omit<Entry, 'origin'> & { origin?: Origin | undefined }

/** A frame as a connection carries it: an `after` that is the sequence of the session's frame before is left out. */
export type WireFrame =
  | Exclude<Frame, EntriesFrame>
  | (Omit<EntriesFrame, 'after' | 'entries'> & { after?: number | undefined; entries: WireEntry[] })
