/** Limits per request, per principal and per connection. */
export interface Limits {
  /** Maximum size of a JSON body, in bytes. @default 1048576 */
  readonly bodyBytes: number
  /** Maximum size of a body that contains a transcript (routes of dialects), in bytes. @default 8388608 */
  readonly transcriptBytes: number
  /** Maximum size of a user message as JSON, in bytes. @default 262144 */
  readonly inputBytes: number
  /** Maximum size of an upload, in bytes. @default 16777216 */
  readonly uploadBytes: number
  /** Maximum total size of the uploads that one message attaches, in bytes. @default 67108864 */
  readonly attachedBytes: number
  /** Maximum time between two pieces of a body, in ms. @default 30000 */
  readonly bodyIdleMs: number
  /** Maximum time until a whole body has arrived, in ms. @default 120000 */
  readonly bodyMs: number
  /** Maximum size of all uploads of a session, in bytes. A file counts as 65536 at least. @default 268435456 */
  readonly sessionUploadedBytes: number
  /** Maximum size of all uploads in the sessions of an owner, in bytes. A file counts as 65536 at least. @default 1073741824 */
  readonly ownerUploadedBytes: number
  /** Maximum size of a JSON reply, in bytes. @default 134217728 */
  readonly replyBytes: number
  /** Maximum bytes of bodies and replies in flight per principal and process. A single one is always accepted. @default 134217728 */
  readonly inFlightBytes: number
  /** Maximum number of sessions per principal, checked when a session is created. @default 1000 */
  readonly sessions: number
  /** Maximum number of open streams per principal and process. @default 256 */
  readonly streams: number
  /** Maximum number of sessions on one connection. @default 100 */
  readonly sessionsPerStream: number
  /** Maximum number of requests per minute, per principal and process. @default 6000 */
  readonly requestsPerMinute: number
  /** Maximum CPU time of checks of answers with forms, in ms per 10 s, per principal and process. @default 2000 */
  readonly answerCheckMs: number
}

export const DEFAULT_LIMITS: Limits = {
  bodyBytes: 1024 * 1024,
  transcriptBytes: 8 * 1024 * 1024,
  inputBytes: 256 * 1024,
  uploadBytes: 16 * 1024 * 1024,
  attachedBytes: 64 * 1024 * 1024,
  bodyIdleMs: 30_000,
  bodyMs: 120_000,
  sessionUploadedBytes: 256 * 1024 * 1024,
  ownerUploadedBytes: 1024 * 1024 * 1024,
  replyBytes: 128 * 1024 * 1024,
  inFlightBytes: 128 * 1024 * 1024,
  sessions: 1_000,
  streams: 256,
  sessionsPerStream: 100,
  requestsPerMinute: 6_000,
  answerCheckMs: 2_000,
}
