import type { Backend } from '../../contenders/log/target.ts'
import type { ServiceName } from '../../harness/services.ts'

export const SIZES = [1, 16, 256]
/** What share of the raw speed ours must have. */
export const LEAST_SHARE = 0.6

/** A place that keeps logs, as the benchmarks use it. */
export interface Place {
  backend: Backend
  title: string
  needs: readonly ServiceName[]
  /** Entries an append. */
  sizes: number[]
  /** How many logs are appended to at once, each with one append under way. */
  logs: number[]
  /** What stands for it without us. */
  raw: string
  /** The same, of a reader, where that is measured. */
  follow?: string
  /** How many entries take about a tenth of a second. */
  items(size: number, logs: number): number
}

export const places: Place[] = [
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
    follow: 'raw: what follows its place is selected after each transaction, on the same connection',
    items: size => (size === 1 ? 2_048 : 16_384),
  },
  {
    backend: 'sqlite-full',
    title: 'SQLite (WAL, synchronous=FULL)',
    needs: ['folder'],
    sizes: [16],
    logs: [1, 16],
    raw: 'raw: node:sqlite as above, and every transaction waits for the disk; those of our sixteen logs wait together',
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
    follow:
      'raw: what follows its place is selected after each append of which it is told, in the process, without NOTIFY',
    items: (size, logs) => (size === 1 ? 64 * logs : size === 16 ? 512 * Math.min(logs, 8) : 4_096),
  },
]

export const inLogs = (logs: number): string => (logs === 1 ? 'one log' : `${logs} logs`)
