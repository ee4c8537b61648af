// Within a protocol version, fields are only added, and a reader ignores unknown fields. A new frame type needs a new version: a reader
// rejects unknown types and versions, because it cannot know what it would miss.
//
// The frames of a session lie between its `open` and one closing frame: `end`, `truncated` or `fail`. No frame follows until the session
// opens again. A session that cannot be opened gets only a `truncated` or `fail`. After a connection has carried two sessions, every frame
// has a `sessionId`. Only a `fail` may omit it: then it concerns the connection itself and closes all sessions.

import type { RunStatus } from '../catalogue/chunk.ts'
import type { FieldTypes } from '../catalogue/field-types.ts'
import type { Entry, Origin } from '../entry/entry.ts'
import type { Json } from '../json/json.ts'

/** The protocol version of the frames. */
export const PROTOCOL_VERSION = 1

/** The fields of each frame, in the notation of the catalogue. `entries` are checked one by one. */
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

/** The first frame of each session. */
export interface OpenFrame {
  /** Kind of the frame. */
  type: 'open'
  /** Version of the protocol. A client refuses any other. */
  protocol: typeof PROTOCOL_VERSION
  /** Id of the session. */
  sessionId: string
  /** Identity of the log. */
  incarnation: string
  /** The last sequence of the log when the connection opened. */
  head: number
  /** A connection without data for this time is dead, in ms. */
  heartbeatMs: number
  /** The cursor from which the connection continues. */
  cursor: string
}

/** All entries in the range `(after, sequence]` that are visible to this connection. */
export interface EntriesFrame {
  /** Kind of the frame. */
  type: 'entries'
  /** Id of the session. May be omitted until the connection has carried two sessions. */
  sessionId?: string
  /** Omitted on the wire if it equals the `sequence` of the previous `entries` frame of the session. */
  after: number
  /** Sequence up to which the connection is complete with this frame. */
  sequence: number
  /** The visible entries, in order. Entries that are hidden from the connection are omitted. */
  entries: Entry[]
  /** The cursor to continue from. */
  cursor: string
}

/** The replay is complete. The following frames are live. */
export interface CaughtUpFrame {
  /** Kind of the frame. */
  type: 'caught-up'
  /** Id of the session. May be omitted until the connection has carried two sessions. */
  sessionId?: string
  /** The last replayed sequence. */
  sequence: number
  /** The cursor to continue from. */
  cursor: string
}

/** The open run paused or continued. */
export interface StatusFrame {
  /** Kind of the frame. */
  type: 'status'
  /** Id of the session. May be omitted until the connection has carried two sessions. */
  sessionId?: string
  /** `paused`: every lane of the run waits. */
  status: 'paused' | 'active'
}

/** Closes a run-scoped connection: the run ended or paused. */
export interface EndFrame {
  /** Kind of the frame. */
  type: 'end'
  /** Id of the session. May be omitted until the connection has carried two sessions. */
  sessionId?: string
  /** Status with which the run ended, or `paused`. */
  status: RunStatus | 'paused'
  /** Output of the run, if it has one. */
  output?: Json
  /** The sequence at which the run ended or paused. */
  sequence: number
}

/** Closes the session: the cursor does not match the log. The client loads a snapshot. */
export interface TruncatedFrame {
  /** Kind of the frame. */
  type: 'truncated'
  /** Id of the session. May be omitted until the connection has carried two sessions. */
  sessionId?: string
  /** The last sequence that was trimmed; 0 for none. */
  floor: number
  /** Identity of the log. */
  incarnation: string
  /** Why the cursor does not match. */
  reason?: 'incarnation' | 'epoch' | 'past-head' | 'below-floor'
  /** The last sequence of the log. */
  head?: number
}

/** An error of the connection. Closes its session, or all sessions without a `sessionId`. `recoverable`: the client should reconnect. */
export interface FailFrame {
  /** Kind of the frame. */
  type: 'fail'
  /** Id of the session. Without it the error concerns the whole connection. */
  sessionId?: string
  /** The error, with a code for programs. */
  error: { code: string; message: string; retryable?: boolean }
  /** Whether the client should reconnect. */
  recoverable: boolean
}

/** The unit of data on a connection. */
export type Frame = OpenFrame | EntriesFrame | CaughtUpFrame | StatusFrame | EndFrame | TruncatedFrame | FailFrame

/** An entry on the wire. A missing origin is that of the previous entry in the frame. */
export type WireEntry = Omit<Entry, 'origin'> & { origin?: Origin | undefined }

/** A frame on the wire. A missing `after` is the `sequence` of the previous `entries` frame of the session. */
export type WireFrame =
  | Exclude<Frame, EntriesFrame>
  | (Omit<EntriesFrame, 'after' | 'entries'> & { after?: number | undefined; entries: WireEntry[] })
