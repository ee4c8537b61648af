import type { Backend } from '../../contenders/log/target.ts'
import type { ServiceName } from '../../harness/services.ts'

export const SIZES = [1, 16, 256]
/** Minimum share of the raw throughput. */
export const MIN_SHARE = 0.6

/** A backend and its benchmark parameters. */
export interface BackendSetup {
  backend: Backend
  title: string
  needs: readonly ServiceName[]
  /** Entries an append. */
  sizes: number[]
  /** Number of logs that are appended to at once, with one append in flight each. */
  logs: number[]
  /** Description of the raw contender. */
  raw: string
  /** Description of the raw reader, if following is measured. */
  follow?: string
  /** Number of entries that take about 100 ms. */
  items(size: number, logs: number): number
}

export const backendSetups: BackendSetup[] = [
  {
    backend: 'memory',
    title: 'memory',
    needs: [],
    sizes: SIZES,
    logs: [1],
    raw: 'raw: strings pushed into an array',
    follow: 'raw: strings pushed into an array and handed to a callback',
    items: size => (size === 1 ? 20_480 : 81_920),
  },
  {
    backend: 'sqlite',
    title: 'SQLite (WAL, synchronous=NORMAL)',
    needs: ['folder'],
    sizes: SIZES,
    logs: [1, 16],
    raw: 'raw: node:sqlite, a prepared INSERT of one row an entry, a transaction an append; the same journal and flushes',
    follow: 'raw: new rows are selected after each transaction, on the same connection',
    items: size => (size === 1 ? 2_048 : 16_384),
  },
  {
    backend: 'sqlite-full',
    title: 'SQLite (WAL, synchronous=FULL)',
    needs: ['folder'],
    sizes: [16],
    logs: [1, 16],
    raw: 'raw: node:sqlite as above, every transaction waits for the disk; ours shares one flush among sixteen logs',
    items: (_size, logs) => 512 * logs,
  },
  {
    backend: 'redis',
    title: 'Redis (appendonly, fsync every second)',
    needs: ['redis'],
    sizes: SIZES,
    logs: [1, 16],
    raw: 'raw: node-redis, an XADD an entry, a pipeline an append, all on one connection; the same server',
    follow: 'raw: one XREAD that waits on all streams, on a second connection',
    items: (size, logs) => (size === 1 ? 512 * Math.min(logs, 8) : 8_192),
  },
  {
    backend: 'postgres',
    title: 'Postgres (synchronous_commit=on)',
    needs: ['postgres'],
    sizes: SIZES,
    logs: [1, 16],
    raw: 'raw: pg, a prepared INSERT of many rows an append, 16 connections; the same server',
    follow: 'raw: new rows are selected after each append, notified in the process, without NOTIFY',
    items: (size, logs) => (size === 1 ? 64 * logs : size === 16 ? 512 * Math.min(logs, 8) : 4_096),
  },
]

export const logCountText = (logs: number): string => (logs === 1 ? 'one log' : `${logs} logs`)
