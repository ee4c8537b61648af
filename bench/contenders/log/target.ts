import type { EntryBatch } from '../../fixtures/batches.ts'

/** Where logs are kept; in SQLite also so that each append waits for the disk. */
export type Backend = 'memory' | 'sqlite' | 'sqlite-full' | 'redis' | 'postgres'

/** So many logs of a process, by number, and a way to append to them; one append a log is under way at a time. */
export interface Target {
  append(log: number, batch: EntryBatch): void | Promise<void>
  /** How many entries a log has. */
  head(log: number): number
  /** What lies after one entry of a log up to another, in the form of `expected`. */
  read(log: number, from: number, to: number): Promise<unknown[]>
  /** What a batch looks like when it is read. */
  expected(batch: EntryBatch): unknown[]
}

/** A target whose logs are followed from the start by a reader each, in this process. */
export interface FollowedTarget extends Target {
  /** The chunks of a batch, as a reader gets them. */
  chunks(batch: EntryBatch): unknown[]
  /** Calls back with all that was appended, in order, as entries that were parsed. */
  follow(take: (log: number, entries: readonly { chunk: unknown }[]) => void): Promise<void>
}
