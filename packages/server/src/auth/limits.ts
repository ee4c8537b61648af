/** What a client may ask of a server. */
export interface Limits {
  /** The largest body of JSON, in bytes. */
  readonly bodyBytes: number
  /** The largest body of a client of another system, which may hold all that the client shows, in bytes. */
  readonly transcriptBytes: number
  /** The largest message of a person, as JSON, in bytes. */
  readonly inputBytes: number
  /** The largest upload, in bytes. */
  readonly uploadBytes: number
  /** The largest that all uploads which one message names may be together, in bytes. */
  readonly attachedBytes: number
  /** How many bytes of the bodies and replies of a principal may be under way at a time, in this process; one alone may always be. */
  readonly heldBytes: number
  /** How many sessions a principal may have; counted when another is made. */
  readonly sessions: number
  /** How many streams a principal may hold open at a time, in this process. */
  readonly streams: number
  /** How many sessions one connection may follow. */
  readonly sessionsPerStream: number
  /** How many requests a principal may make in a minute, in this process. */
  readonly requestsPerMinute: number
}

export const DEFAULT_LIMITS: Limits = {
  bodyBytes: 1024 * 1024,
  transcriptBytes: 8 * 1024 * 1024,
  inputBytes: 256 * 1024,
  uploadBytes: 16 * 1024 * 1024,
  attachedBytes: 64 * 1024 * 1024,
  heldBytes: 128 * 1024 * 1024,
  sessions: 1_000,
  streams: 256,
  sessionsPerStream: 100,
  requestsPerMinute: 6_000,
}
