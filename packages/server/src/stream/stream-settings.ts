import type { Timers } from '@millrace/log'

/** How streams are served. */
export interface StreamSettings {
  readonly timers: Timers
  /** How often a silent connection is given a sign of life, in milliseconds. */
  readonly heartbeatMs: number
  /** How many characters a heartbeat is made longer by, for proxies that hold back what is short. */
  readonly heartbeatPadding: number
  /** When a client should come back that was cut off, in milliseconds. */
  readonly retryMs: number
  /** How much may wait for one reader's network before it counts as slow, in bytes. */
  readonly maxBuffered: number
  /** For how long a reader may take nothing at all, in milliseconds. */
  readonly stallMs: number
  /** How often it is asked again whether somebody may still read, in milliseconds. */
  readonly reauthorizeMs: number
  /** How long a long poll waits for something to tell, in milliseconds. */
  readonly pollMs: number
}

/** How much of a log a connection reads at once while it catches up, about, in bytes. */
export const PAGE_BYTES = 256 * 1024

/** The stream settings of an app without `stream`. */
export const DEFAULT_STREAM: Omit<StreamSettings, 'timers'> = {
  heartbeatMs: 15_000,
  heartbeatPadding: 0,
  retryMs: 1_000,
  maxBuffered: 256 * 1024,
  stallMs: 30_000,
  reauthorizeMs: 60_000,
  pollMs: 25_000,
}

/** The smallest settings that leave a connection time and room. */
export const LEAST_STREAM: Partial<typeof DEFAULT_STREAM> = {
  heartbeatMs: 2,
  maxBuffered: 4 * 1024,
  stallMs: 1,
  reauthorizeMs: 1,
  pollMs: 1,
}
