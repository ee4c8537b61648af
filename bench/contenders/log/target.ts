import type { EntryBatch } from '../../fixtures/batches.ts'

/** Storage of logs. In `sqlite-full` each append waits for the disk. */
export type Backend = 'memory' | 'sqlite' | 'sqlite-full' | 'redis' | 'postgres'

/** Numbered logs of a process, with one append in flight per log. */
export interface Target {
  append(log: number, batch: EntryBatch): void | Promise<void>
  /** Number of entries of a log. */
  head(log: number): number
  /** Entries of a log in the range (from, to], in the form of `expected`. */
  read(log: number, from: number, to: number): Promise<unknown[]>
  /** A batch as it is read back. */
  expected(batch: EntryBatch): unknown[]
}

/** A target with one reader per log in this process, from the start. */
export interface FollowedTarget extends Target {
  /** Chunks of a batch as a reader receives them. */
  chunks(batch: EntryBatch): unknown[]
  /** Calls back with all appended entries, parsed and in order. */
  follow(onEntries: (log: number, entries: readonly { chunk: unknown }[]) => void): Promise<void>
}
