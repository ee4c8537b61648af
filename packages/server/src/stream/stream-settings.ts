import type { Timers } from '@millrace/log'

/** Settings of streams. */
export interface StreamSettings {
  /** Clock and timers, for tests. @default systemTimers */
  readonly timers: Timers
  /** Maximum time without a frame before a heartbeat is sent, in ms. @default 15000 */
  readonly heartbeatMs: number
  /** Padding of a heartbeat, in characters, for proxies that buffer short writes. @default 0 */
  readonly heartbeatPadding: number
  /** Delay before a disconnected client reconnects, in ms (`retry` of Server-Sent Events). @default 1000 */
  readonly retryMs: number
  /** Buffered bytes at which a reader counts as slow. @default 262144 */
  readonly maxBufferedBytes: number
  /** Time without any progress after which a slow connection is closed, in ms. @default 30000 */
  readonly stallMs: number
  /** Interval at which an open stream is authorized again, in ms. @default 60000 */
  readonly reauthorizeMs: number
  /** Maximum wait of a long poll, in ms. @default 25000 */
  readonly pollMs: number
}

/** Approximate number of bytes that a connection reads from the log at once while it catches up. */
export const PAGE_BYTES = 256 * 1024

/** The default stream settings. */
export const DEFAULT_STREAM: Omit<StreamSettings, 'timers'> = {
  heartbeatMs: 15_000,
  heartbeatPadding: 0,
  retryMs: 1_000,
  maxBufferedBytes: 256 * 1024,
  stallMs: 30_000,
  reauthorizeMs: 60_000,
  pollMs: 25_000,
}

/** The minimum values of stream settings. */
export const MIN_STREAM: Partial<typeof DEFAULT_STREAM> = {
  heartbeatMs: 2,
  maxBufferedBytes: 4 * 1024,
  stallMs: 1,
  reauthorizeMs: 1,
  pollMs: 1,
}
