// Within a version, fields are only added, and a reader ignores those that it does not know. A new type of frame needs a new version: a
// reader could not tell what it misses, so it refuses both.
//
// A session's frames lie between its `open` and one closing frame: `end`, `truncated` or `fail`. Then nothing more comes of it, unless it
// opens again. A session that cannot be opened gets a `truncated` or `fail` alone. Once a connection has known two sessions every frame
// names its own; only a `fail` may leave it out, and then it is about the whole connection and closes all of them.

import type { RunStatus } from './catalogue/chunk.ts'
import type { Fields } from './catalogue/types.ts'
import type { Entry, Origin } from './entry.ts'
import type { Json } from './json/value.ts'

/** The version of the frames that this package speaks. */
export const PROTOCOL_VERSION = 1

/** The fields of each frame, in the notation of the catalogue; `entries` are looked at one by one. */
export const frames = {
  open: {
    version: `${PROTOCOL_VERSION}`,
    session: 'string',
    incarnation: 'string',
    head: 'count',
    heartbeat: 'count',
    cursor: 'string',
  },
  entries: { session: 'string?', after: 'count?', sequence: 'count', entries: 'json[]', cursor: 'string' },
  'caught-up': { session: 'string?', sequence: 'count', cursor: 'string' },
  status: { session: 'string?', status: 'logStatus' },
  end: { session: 'string?', status: 'endStatus', output: 'json?' },
  truncated: { session: 'string?', reason: 'truncation', head: 'count?', floor: 'count?' },
  fail: { session: 'string?', code: 'string', message: 'string', recoverable: 'boolean' },
} as const satisfies Record<string, Fields>

/** Comes first for each session: what this connection is about. */
export interface OpenFrame {
  type: 'open'
  version: typeof PROTOCOL_VERSION
  session: string
  incarnation: string
  head: number
  /** Milliseconds after which silence means that the connection is dead. */
  heartbeat: number
  cursor: string
}

/** All that this connection is to see of `(after, sequence]`. */
export interface EntriesFrame {
  type: 'entries'
  session?: string
  /** Left out on the wire where it is the `sequence` of the session's frame before. */
  after: number
  sequence: number
  entries: Entry[]
  cursor: string
}

/** The replay is over; what follows is live. */
export interface CaughtUpFrame {
  type: 'caught-up'
  session?: string
  sequence: number
  cursor: string
}

/** The log's status changed. */
export interface StatusFrame {
  type: 'status'
  session?: string
  status: 'active' | 'paused' | 'ended' | 'failed'
}

/** Closes a run-scoped connection: the run ended, or waits. */
export interface EndFrame {
  type: 'end'
  session?: string
  status: RunStatus | 'paused'
  output?: Json
}

/** Closes: the cursor does not match what the log holds, take a snapshot. */
export interface TruncatedFrame {
  type: 'truncated'
  session?: string
  /** Why the cursor does not match. */
  reason: 'incarnation' | 'epoch' | 'past-head' | 'below-floor'
  head?: number
  floor?: number
}

/** Closes its session, or all of them where it names none: the connection's own trouble; `recoverable` says reconnect. */
export interface FailFrame {
  type: 'fail'
  session?: string
  code: string
  message: string
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
